"""Makes houses.csv: 600 invented houses, whose price follows a formula with noise."""
import pathlib

import numpy as np

random = np.random.default_rng(7)
rows = 600
area = random.uniform(35, 220, rows)
rooms = np.clip(np.round(area / 28 + random.normal(0, 0.8, rows)), 1, 9)
age = random.integers(0, 90, rows)
distance = random.gamma(2.0, 4.0, rows)
garden = random.integers(0, 2, rows)
price = (40 + 2.1 * area * (0.55 + 0.45 * np.exp(-distance / 6)) - 0.9 * age + 0.006 * (age - 45) ** 2
         + 25 * garden * (distance < 8) + 6 * rooms + random.normal(0, 12, rows))
table = np.column_stack([area, rooms, age, distance, garden, price])
np.savetxt(pathlib.Path(__file__).with_name("houses.csv"), table, fmt=["%.1f", "%d", "%d", "%.2f", "%d", "%.1f"],
           delimiter=",", header="area,rooms,age,distance,garden,price", comments="")
