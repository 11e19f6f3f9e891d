"""The one logger of flowfn; silent unless the program configures logging."""

import logging

logger = logging.getLogger("flowfn")
logger.addHandler(logging.NullHandler())
