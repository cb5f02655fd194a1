"""Writes eval.json: what evaluation has to give, by scikit-learn.

    python eval.py            needs NumPy, SciPy and scikit-learn (1.9.1 wrote the file); writes beside itself

Numbers that go in are single precision, as embeddings are, and are fitted in double precision. A C is
chosen on validation rows by the likelihood of their classes, scores scaled to make it largest (micro-F1
where a row may have several classes), the smaller one where two are as good. Metrics that scikit-learn lacks are hand calculations in the Rust tests.
"""

import json
import pathlib
import warnings

import numpy as np
import sklearn.metrics as metrics
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax
from sklearn.cluster import KMeans
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import Normalizer, StandardScaler

warnings.simplefilter("ignore")
random = np.random.default_rng(20)
GRID = [0.001, 0.01, 0.1, 1.0, 10.0, 100.0, 1000.0]


def single(x):
    return np.asarray(x, dtype=np.float32).astype(np.float64)


def blobs(rows, width, classes, spread):
    y = np.arange(rows) % classes
    centers = random.normal(size=(classes, width))
    x = centers[y] + spread * random.normal(size=(rows, width)) + np.linspace(-1, 3, width)
    return single(np.round(x, 4)), y


def numbers(x):
    return np.asarray(x).ravel().tolist()


def model(c):
    # Newton's steps: the objective of the default solver, which stops before the tenth digit.
    return LogisticRegression(C=c, tol=1e-10, max_iter=1000, solver="newton-cholesky")


def fits():
    found = []
    for classes, rows, width in [(4, 60, 5), (2, 50, 4), (3, 300, 20)]:
        x, y = blobs(rows, width, classes, 1.6)
        fresh = single(np.round(x[::3] + 0.5, 4))
        models = []
        for c in [0.01, 1.0, 30.0]:
            fit = model(c).fit(x, y)
            # Of a softmax only differences count; the default solver leaves their mean at zero.
            shift = fit.intercept_.mean() if classes > 2 else 0
            models.append({"c": c, "coefficients": numbers(fit.coef_), "intercepts": numbers(fit.intercept_ - shift),
                           "answers": numbers(fit.predict(fresh))})
        found.append({"rows": rows, "width": width, "classes": classes, "x": numbers(x), "y": numbers(y),
                      "fresh": numbers(fresh), "models": models})
    return found


def several(rows, width, outputs):
    x = single(np.round(random.normal(size=(rows, width)), 4))
    z = x @ random.normal(size=(width, outputs)) + random.normal(size=(rows, outputs)) - 0.5
    return x, (z > 0).astype(int)


def rest():
    x, y = several(80, 6, 5)
    models = []
    for c in [0.1, 10.0]:
        fit = OneVsRestClassifier(model(c)).fit(x, y)
        models.append({
            "c": c, "coefficients": numbers([e.coef_ for e in fit.estimators_]),
            "intercepts": numbers([e.intercept_ for e in fit.estimators_]), "answers": numbers(fit.predict(x)),
        })
    return [{"rows": 80, "width": 6, "outputs": 5, "x": numbers(x), "y": numbers(y), "models": models}]


def figures(y, answers, scores):
    return {
        "accuracy": metrics.accuracy_score(y, answers),
        "micro_f1": metrics.f1_score(y, answers, average="micro", zero_division=0),
        "macro_f1": metrics.f1_score(y, answers, average="macro", zero_division=0),
        "auc": metrics.roc_auc_score(y, scores) if scores is not None else None,
    }


def surprise(scores, y):
    scores = np.stack([0 * scores, scores], axis=1) if scores.ndim == 1 else scores
    mean = lambda t: -log_softmax(np.exp(t) * scores, axis=1)[np.arange(len(y)), y].mean()
    return minimize_scalar(mean, bounds=(-10, 10), method="bounded", options={"xatol": 1e-10}).fun


def probes():
    found = []
    for name, classes, normalise, standardise in [
        ("plain", 4, False, False), ("standardised", 3, False, True), ("both", 2, True, True),
        ("normalised", 5, True, False), ("several", 0, False, True),
    ]:
        x, y = blobs(240, 6, classes, 1.8) if classes else several(240, 8, 6)
        x = single(x * np.geomspace(0.1, 10, x.shape[1]))
        roles = random.permutation(np.repeat([1, 2, 3, 0], [80, 60, 80, 20]))
        rows = Normalizer().fit_transform(x) if normalise else x
        if standardise:
            rows = StandardScaler().fit(rows[roles == 1]).transform(rows)
        rows = single(rows)
        best, tried = None, []
        for c in GRID:
            fit = model(c) if classes else OneVsRestClassifier(model(c))
            fit.fit(rows[roles == 1], y[roles == 1])
            if classes:
                judged = -surprise(fit.decision_function(rows[roles == 2]), y[roles == 2])
            else:
                judged = figures(y[roles == 2], fit.predict(rows[roles == 2]), None)["micro_f1"]
            tried.append(judged)
            if best is None or judged > best[0]:
                best = (judged, c, fit)
        _, c, fit = best
        report = {"c": c, "tried": tried}
        for role, part in [(1, "train"), (2, "validation"), (3, "test")]:
            some = rows[roles == role]
            scores = fit.decision_function(some) if classes == 2 else None
            report[part] = figures(y[roles == role], fit.predict(some), scores)
        found.append({
            "name": name, "several": classes == 0, "normalise": normalise, "standardise": standardise,
            "rows": len(x), "width": x.shape[1], "x": numbers(x), "y": numbers(y), "roles": numbers(roles),
            "report": report,
        })
    return found


def answers():
    found = []
    for classes, rows in [(2, 30), (5, 60), (9, 25)]:
        y, z = random.integers(0, classes, rows), random.integers(0, classes, rows)
        z = np.where(random.random(rows) < 0.6, y, z)
        z[z == classes - 1] = 0  # a class without answers
        found.append({
            "truth": numbers(y), "answers": numbers(z),
            "accuracy": metrics.accuracy_score(y, z),
            "micro_f1": metrics.f1_score(y, z, average="micro", zero_division=0),
            "macro_f1": metrics.f1_score(y, z, average="macro", zero_division=0),
            "nmi": metrics.normalized_mutual_info_score(y, z),
            "ari": metrics.adjusted_rand_score(y, z),
        })
    return found


def scores():
    found = []
    for rows, digits in [(40, 1), (200, 2), (60, 6)]:
        y = random.random(rows) < 0.4
        z = np.round(random.normal(size=rows) + y, digits)
        found.append({
            "truths": numbers(z[y]), "falses": numbers(z[~y]),
            "auc": metrics.roc_auc_score(y, z), "average_precision": metrics.average_precision_score(y, z),
        })
    return found


def neighbours():
    x, y = blobs(90, 5, 3, 1.5)
    near = NearestNeighbors(n_neighbors=11, metric="cosine", algorithm="brute").fit(x).kneighbors(x)[1]
    near = np.array([[j for j in row if j != i][:10] for i, row in enumerate(near)])
    sims = {k: float(np.mean(y[near[:, :k]] == y[:, None])) for k in (5, 10)}
    return {"rows": 90, "width": 5, "x": numbers(x), "y": numbers(y), "near": numbers(near),
            "sim_5": sims[5], "sim_10": sims[10]}


def groups():
    x, y = blobs(120, 4, 5, 0.2)
    y = np.where(random.random(120) < 0.2, random.integers(0, 5, 120), y)
    fit = KMeans(5, n_init=50, random_state=0).fit(x)
    return {"rows": 120, "width": 4, "x": numbers(x), "y": numbers(y), "inertia": fit.inertia_,
            "nmi": metrics.normalized_mutual_info_score(y, fit.labels_),
            "ari": metrics.adjusted_rand_score(y, fit.labels_)}


state = {"fits": fits(), "rest": rest(), "probes": probes(), "answers": answers(), "scores": scores(),
         "neighbours": neighbours(), "groups": groups()}


def short(value):
    """Inputs are single precision and are written with as few digits as tell them apart."""
    if isinstance(value, dict):
        return {k: [float(str(np.float32(x))) for x in v] if k in ("x", "fresh") else short(v) for k, v in value.items()}
    if isinstance(value, list):
        return [short(v) for v in value]
    return value


path = pathlib.Path(__file__).parent / "eval.json"
path.write_text(json.dumps(short(state), separators=(",", ":")) + "\n")
