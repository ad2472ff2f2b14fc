from tests.support.fixtures import gpu_library_path, host, image, library_path

__all__ = ["gpu_library_path", "host", "image", "library_path"]
