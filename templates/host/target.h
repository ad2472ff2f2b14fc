/* Chooses where the model runs and which variant serves there. */
#ifndef NAUTILUS_HOST_TARGET_H
#define NAUTILUS_HOST_TARGET_H

#include "loader.h"
#include "payload.h"

struct place {
  const struct payload_variant *variant;
  struct driver driver;
  cu_device device;
  int driver_version; /* 1000 * major + 10 * minor */
  char device_name[128];
};

/* Loads the driver that PLACE means and picks the variant. On failure PLACE may hold a loaded driver, which driver_unload frees. */
nautilus_status place_choose(const struct payload *payload, const nautilus_model_options *options, struct place *place);

#endif
