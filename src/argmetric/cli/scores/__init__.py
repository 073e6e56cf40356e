"""Commands on files of scores: decide, forecast, evaluate, tune, calibrate, expect."""
