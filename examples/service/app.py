"""A service that labels rows by a frozen rule, and baskets jointly.

RULE=rule.json uvicorn app:app
"""

import os
from contextlib import asynccontextmanager

from fastapi import FastAPI
from fastapi.responses import JSONResponse

import argmetric as am

RULE = am.Rule.load(os.environ["RULE"])


@asynccontextmanager
async def warm(app):
    am.warmup()  # compiled here, or loaded if the image holds the kernels
    yield


app = FastAPI(lifespan=warm)


@app.exception_handler(ValueError)
def refused(request, error):  # scores that are NaN, or no probabilities
    return JSONResponse({"detail": str(error)}, status_code=422)


@app.post("/rows")
def rows(scores: list[float]) -> list:
    return RULE.apply(scores).tolist()


@app.post("/basket")
def basket(scores: list[float]) -> list[int]:
    return am.decide(scores, RULE.metric, reference=RULE.calibrator).labels.tolist()
