"""Tables with ids of your own: texts go in, the same texts come out.

    python examples/own_tables.py
"""

import numpy as np
import pandas as pd

from subgcon import SubgCon

# Who bought what: customers with a few numbers each, and who was referred by whom.
rng = np.random.default_rng(0)
names = [f"customer-{number:04d}" for number in rng.permutation(2000)]
group = np.arange(2000) % 4
nodes = pd.DataFrame(
    {
        "id": names,
        "visits": rng.poisson(3 + group),
        "spent": rng.gamma(2 + group, 10).round(2),
        "age": rng.normal(40, 12, 2000).round(),
        "returns": rng.poisson(1 + (group == 2)),
    }
)
# Two of three referrals stay within a group.
source = rng.integers(0, 2000, 9000)
target = np.where(rng.random(9000) < 2 / 3, (source + 4 * rng.integers(1, 500, 9000)) % 2000, rng.integers(0, 2000, 9000))
edges = pd.DataFrame({"from": np.array(names)[source], "to": np.array(names)[target]})

# Columns are measures, each in a unit of its own: that is found out, and they are brought to one scale.
model = SubgCon(n_components=16, random_state=0)
model.fit(nodes, edges)
print(model.graph_)
print("left out:", model.graph_.dropped)

table = model.to_pandas()
print(table.iloc[:3, :4])
assert list(table.index) == names

# Some customers by name, and what one's vector is made from.
print(model.transform(["customer-0007", "customer-0042"]).shape)
for member in model.explain("customer-0007")[:4]:
    print(f"  {member['id']}  {member['pagerank']:.3f}  {member['hops']} hops")

# Customers like customer-0007.
rows = table.to_numpy()
here = rows[names.index("customer-0007")]
likeness = rows @ here / np.linalg.norm(rows, axis=1) / np.linalg.norm(here)
print("most alike:", [names[place] for place in np.argsort(-likeness)[1:4]])

model.write("customers.parquet")
print("wrote customers.parquet")
