"""The Python package beside the command and PyTorch Geometric's DeepGraphInfomax: seconds, peak memory and accuracy.

Run by `cargo xtask bench python`, after `cargo xtask package` has built the wheel. Every measurement is a process of
its own that reads features and a matrix from one file; its memory is the process's peak, so what it imports counts:
how much that alone is stands beside it. "learning" is the time of the call alone, from arrays to embeddings.

DeepGraphInfomax is as its authors have it: one GCN layer of 512 columns, PReLU, rows of features that sum to one, shuffled
rows as negatives, Adam with rate 0.001, until the loss has not fallen for 20 steps, or --most-seconds are over. All embeddings are
probed by `subgcon.evaluate`, C chosen on the validation nodes; what is told is accuracy on the validation nodes, or on the
test nodes with `--figure test`.
"""

import argparse
import json
import pathlib
import resource
import subprocess
import sys
import time

from import_speed import measured

ROOT = pathlib.Path(__file__).resolve().parents[1]
GRAPHS = ["cora", "pubmed"]


def arrays(path):
    import numpy as np
    import scipy.sparse as sp

    data = np.load(path)
    shape = tuple(data["shape"])
    X = sp.csr_array((data["values"], data["columns"], data["starts"]), shape=shape)
    A = sp.csr_array((data["weights"], data["neighbours"], data["offsets"]), shape=(shape[0], shape[0]))
    return X, A


def peak():
    """Bytes, the largest that this process has been."""
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def learn_package(path, out, _):
    started = time.perf_counter()
    import numpy as np
    import scipy.sparse  # noqa: F401
    from subgcon import SubgCon

    imports, importing = peak(), time.perf_counter() - started
    X, A = arrays(path)
    read = time.perf_counter()
    Z = SubgCon(random_state=0).fit_transform(X, A)
    learnt = time.perf_counter()
    np.save(out, Z)
    return {"importing": importing, "learning": learnt - read, "imports": imports}


def learn_infomax(path, out, most):
    started = time.perf_counter()
    import numpy as np
    import torch
    from torch_geometric.nn import DeepGraphInfomax, GCNConv

    imports, importing = peak(), time.perf_counter() - started
    X, A = arrays(path)
    read = time.perf_counter()
    torch.manual_seed(0)

    class Encoder(torch.nn.Module):
        def __init__(self, width):
            super().__init__()
            self.layer, self.activation = GCNConv(width, 512, cached=True), torch.nn.PReLU(512)

        def forward(self, x, edges):
            return self.activation(self.layer(x, edges))

    rows = np.asarray(X.sum(axis=1)).ravel()
    x = torch.from_numpy((X.toarray() / np.maximum(rows, 1e-9)[:, None]).astype("f4"))
    coo = A.tocoo()
    edges = torch.from_numpy(np.array([coo.row, coo.col], dtype=np.int64))
    model = DeepGraphInfomax(
        hidden_channels=512,
        encoder=Encoder(x.shape[1]),
        summary=lambda z, *_, **__: z.mean(dim=0).sigmoid(),
        corruption=lambda x, edges: (x[torch.randperm(x.shape[0])], edges),
    )
    adam = torch.optim.Adam(model.parameters(), lr=0.001)
    best, waited, steps = float("inf"), 0, 0
    while waited < 20 and time.perf_counter() - read < most:
        model.train()
        adam.zero_grad()
        loss = model.loss(*model(x, edges))
        loss.backward()
        adam.step()
        steps += 1
        if loss.item() < best:
            best, waited, kept = loss.item(), 0, {k: v.clone() for k, v in model.state_dict().items()}
        else:
            waited += 1
    model.load_state_dict(kept)
    model.eval()
    with torch.no_grad():
        Z = model.encoder(x, edges).numpy()
    learnt = time.perf_counter()
    np.save(out, Z)
    return {"importing": importing, "learning": learnt - read, "imports": imports, "steps": steps}


LEARNERS = {"package": learn_package, "infomax": learn_infomax}


def save_arrays(store, path):
    import numpy as np
    import scipy.sparse as sp

    load = lambda name: np.load(store / f"{name}.npy")
    manifest = json.loads((store / "manifest.json").read_text())
    shape = (manifest["nodes"], manifest["features"]["width"])
    if manifest["features"]["storage"] == "dense":
        X = sp.csr_array(load("features"))
    else:
        parts = load("feature_values"), load("feature_columns").astype("i4"), load("feature_offsets").astype("i4")
        X = sp.csr_array(parts, shape=shape)
    neighbours = load("neighbours").astype("i4")
    np.savez(
        path,
        values=X.data,
        columns=X.indices,
        starts=X.indptr,
        neighbours=neighbours,
        offsets=load("offsets").astype("i4"),
        weights=np.ones(len(neighbours), "f4"),
        shape=shape,
    )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--subgcon", type=pathlib.Path)
    parser.add_argument("--work", type=pathlib.Path)
    parser.add_argument("--data", type=pathlib.Path, default=ROOT.parent / "shared" / "data", help="folder with planetoid/")
    parser.add_argument("--figure", choices=["validation", "test"], default="validation")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--most-seconds", type=float, default=900, help="of DeepGraphInfomax's training")
    parser.add_argument("--learn", nargs=3, metavar=("WAY", "ARRAYS", "OUT"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.learn:
        way, path, out = arguments.learn
        print(json.dumps(LEARNERS[way](path, out, arguments.most_seconds)))
        return
    wheels = list((ROOT / "target" / "package").glob("*.whl"))
    if len(wheels) != 1:
        sys.exit("target/package holds no wheel: run `cargo xtask package` first")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--force-reinstall", "--no-deps", str(wheels[0])]
    subprocess.run(pip, check=True)
    import numpy as np

    from subgcon import Graph, datasets, evaluate

    work = arguments.work
    work.mkdir(parents=True, exist_ok=True)
    print("| graph | program | seconds in all | learning | peak memory | of it imports | accuracy |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: |")
    for name in GRAPHS:
        store = work / f"{name}.graph"
        if not store.exists():
            datasets.load_planetoid(arguments.data / "planetoid", name, store=store)
        graph = Graph.open(store)
        save_arrays(store, work / f"{name}.npz")

        def told(program, runs, file):
            report = evaluate(np.load(file), graph)
            figure = report[f"{arguments.figure}_mean"]
            seconds, memory, learning, imports = (min(values) for values in zip(*runs))
            print(
                f"| {name} | {program} | {seconds:.2f} | {learning:.2f} | {memory / 1e6:,.0f} MB "
                f"| {imports / 1e6:,.0f} MB | {100 * figure:.1f} % |",
                flush=True,
            )

        runs = []
        for _ in range(arguments.runs):
            subprocess.run(["rm", "-rf", work / f"{name}.graph.contexts"], check=True)
            train = [arguments.subgcon, "train", store, "-o", work / f"{name}.model", "--force"]
            embed = [arguments.subgcon, "embed", store, "--model", work / f"{name}.model", "-o", work / "e.npy"]
            parts = [measured(train)[1:], measured(embed)[1:]]
            seconds = sum(part[0] for part in parts)
            runs.append((seconds, max(part[1] for part in parts), seconds, 0))
        told("the command", runs, work / "e.npy")
        wanted = np.load(work / "e.npy")
        for program, way in (("Python package", "package"), ("PyG DeepGraphInfomax", "infomax")):
            runs = []
            for _ in range(arguments.runs if way == "package" else 1):
                command = [sys.executable, __file__, "--most-seconds", arguments.most_seconds]
                command += ["--learn", way, work / f"{name}.npz", work / f"{way}.npy"]
                output, seconds, memory = measured([str(word) for word in command])
                run = json.loads(output)
                runs.append((seconds, memory, run["learning"], run["imports"]))
                if "steps" in run:
                    program += f", {run['steps']} steps"
            told(program, runs, work / f"{way}.npy")
        same = np.load(work / "package.npy").tobytes() == wanted.tobytes()
        print(f"| | the package's bytes are the command's: {'yes' if same else 'NO'} | | | | | |")


if __name__ == "__main__":
    main()
