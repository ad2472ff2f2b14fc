#include "chain.h"

#include <stdlib.h>
#include <string.h>

#include "context.h"
#include "error.h"
#include "kinds.h"
#include "program.h"

/* Launches of a straight run from which on graphs are quicker than they are one by one. */
enum { CHAIN_LAUNCHES = 2 };

/* Launches of a link: few in the first ones, so that the device begins soon, and few in the last ones, since nothing hides what these take. */
enum { LEAST_LAUNCHES = 8, MOST_LAUNCHES = 24 };

/* Launches that come again right behind themselves, such as a layer, at most. */
enum { MOST_PERIOD = 128 };

/* How many launches from FIRST on come again right behind themselves, before END; 0 where none do. */
static size_t period_at(const nautilus_model *model, size_t first, size_t end) {
  for (size_t period = LEAST_LAUNCHES; period <= MOST_PERIOD && first + 2 * period <= end; period++)
    if (kinds_are_equal(model, first, first + period, period))
      return period;
  return 0;
}

/* As many launches as a link has that shares nothing, of those that are LEFT, where the one before has BEFORE. */
static size_t length_of(size_t before, size_t left) {
  size_t length = before + LEAST_LAUNCHES;
  if (length > MOST_LAUNCHES)
    length = MOST_LAUNCHES;
  if (length > (left + 1) / 2)
    length = (left + 1) / 2;
  if (length < LEAST_LAUNCHES)
    length = LEAST_LAUNCHES;
  return length + LEAST_LAUNCHES / 2 <= left ? length : left;
}

/* Where a link that begins with launch FIRST ends: a period is a link, or some of about one length; what is ahead of one is another. */
static size_t cut(const nautilus_model *model, size_t first, size_t end, size_t before) {
  size_t period = period_at(model, first, end), length = length_of(before, end - first), count = 1;
  if (period > 0) {
    size_t parts = (period + MOST_LAUNCHES - 1) / MOST_LAUNCHES;
    return (period + parts - 1) / parts;
  }
  while (count < length && period_at(model, first + count, end) == 0)
    count++;
  return count;
}

/* The longest link of launches like those from FIRST on, NULL where there is none. */
static struct link *known_at(const nautilus_model *model, const struct chain *chain, size_t first, size_t end) {
  struct link *found = NULL;
  for (size_t i = 0; i < chain->link_count; i++) {
    struct link *link = &chain->links[i];
    if (first + link->count <= end && (found == NULL || link->count > found->count) &&
        kinds_are_equal(model, link->first, first, link->count))
      found = link;
  }
  return found;
}

/* Makes the next link, of COUNT launches from FIRST on. */
static struct link *add_link(nautilus_context *context, size_t first, size_t count) {
  struct link *link = &context->chain.links[context->chain.link_count++];
  link->first = first;
  link->count = count;
  link->graph.fits_all = 1;
  if (replay_prepare(context, &link->graph, first, count) != NAUTILUS_OK)
    replay_dispose(context, &link->graph);
  return link;
}

/* Cuts COUNT launches from FIRST on into links. */
static void add_links(nautilus_context *context, size_t first, size_t count) {
  struct chain *chain = &context->chain;
  size_t end = first + count, before = 0;
  while (first < end && count >= CHAIN_LAUNCHES) {
    struct link *link = known_at(context->model, chain, first, end);
    if (link == NULL)
      link = add_link(context, first, cut(context->model, first, end, before));
    chain->begins[first] = (uint32_t)(link - chain->links) + 1;
    before = link->count;
    first += before;
  }
}

nautilus_status chain_create(nautilus_context *context) {
  const nautilus_model *model = context->model;
  struct chain *chain = &context->chain;
  chain->links = calloc(model->launch_count + 1, sizeof *chain->links);
  chain->begins = calloc(model->launch_count + 1, sizeof *chain->begins);
  if (chain->links == NULL || chain->begins == NULL) {
    chain_dispose(context);
    return error_set(NAUTILUS_OUT_OF_MEMORY, "the host has no memory for a context");
  }
  if (!program_exists(model))
    add_links(context, 0, model->launch_count);
  for (uint32_t i = 0; i < model->place.variant->step_count; i++) {
    const struct payload_step *step = &model->payload.steps[model->place.variant->step_first + i];
    if (step->kind == STEP_LAUNCHES)
      add_links(context, step->first, step->count);
  }
  return NAUTILUS_OK;
}

void chain_dispose(nautilus_context *context) {
  struct chain *chain = &context->chain;
  for (size_t i = 0; i < chain->link_count; i++)
    replay_dispose(context, &chain->links[i].graph);
  free(chain->links);
  free(chain->begins);
  memset(chain, 0, sizeof *chain);
}

static nautilus_status run_link(nautilus_context *context, struct link *link, size_t first, cu_stream stream) {
  replay_move(&link->graph, first);
  if (link->graph.exec == NULL || replay_update(context, &link->graph) != NAUTILUS_OK) /* a driver that gives no node such a kernel */
    return context_launch_each(context, stream, first, link->count);
  TRY_DRIVER(&context->model->place.driver, cuGraphLaunch(link->graph.exec, stream), "running the model");
  return NAUTILUS_OK;
}

nautilus_status chain_run(nautilus_context *context, size_t first, size_t count, cu_stream stream) {
  const struct chain *chain = &context->chain;
  size_t end = first + count;
  if (count == 0 || chain->begins == NULL || chain->begins[first] == 0)
    return context_launch_each(context, stream, first, count);
  while (first < end) {
    struct link *link = &chain->links[chain->begins[first] - 1];
    TRY(run_link(context, link, first, stream));
    first += link->count;
  }
  return NAUTILUS_OK;
}
