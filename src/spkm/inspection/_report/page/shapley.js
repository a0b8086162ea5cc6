// Shapley values of one row: exact where kernels are sums of products over features, else estimated.
const WORK = 3e7; // multiplications that a row may cost

// Nodes and weights of Gauss and Legendre on [0, 1].
function gauss(count) {
  const nodes = [],
    weights = [];
  for (let i = 0; i < count; i++) {
    let x = Math.cos((Math.PI * (i + 0.75)) / (count + 0.5)),
      slope = 1;
    for (let step = 0; step < 100; step++) {
      let a = 1,
        b = x;
      for (let n = 2; n <= count; n++) [a, b] = [b, ((2 * n - 1) * x * b - (n - 1) * a) / n];
      const value = count === 1 ? x : b;
      slope = count === 1 ? 1 : (count * (x * b - a)) / (x * x - 1);
      const change = value / slope;
      x -= change;
      if (Math.abs(change) < 1e-16) break;
    }
    nodes.push((1 - x) / 2);
    weights.push(1 / ((1 - x * x) * slope * slope));
  }
  return { nodes, weights };
}

// Factors of every column of the table at a point z of a member: result[r][q][c]. Features of one category are one.
function termFactors(machine, member, term, shape, z) {
  return term.weights.map((_, r) =>
    shape.amounts.map((_, q) => {
      const exponents = new Float64Array(machine.columns.length);
      term.views.forEach((view, v) => {
        const rates = shape.views[v];
        view.columns.forEach((column, j) => {
          const apart = z[column] - view.basis[r][j],
            c = machine.owner[member.features[column]];
          if (rates.squared) exponents[c] += rates.squared.steps[q] * rates.squared.base[j] * apart * apart;
          if (rates.absolute) exponents[c] += rates.absolute.steps[q] * rates.absolute.base[j] * Math.abs(apart);
        });
      });
      return exponents.map((e) => Math.exp(-e));
    })
  );
}

// Adds scale times the Shapley values of the game with factors p (present) and q (absent) to "into".
function productGame(p, q, rule, scale, into) {
  const s = p.length,
    before = new Float64Array(s + 1);
  rule.nodes.forEach((t, i) => {
    before[0] = 1;
    for (let j = 0; j < s; j++) before[j + 1] = before[j] * (q[j] + t * (p[j] - q[j]));
    let after = scale * rule.weights[i];
    for (let j = s - 1; j >= 0; j--) {
      into[j] += (p[j] - q[j]) * before[j] * after;
      after *= q[j] + t * (p[j] - q[j]);
    }
  });
}

// The only view of a term, if its kernel is linear: then a feature's part needs nobody else's.
function linearView(term) {
  return term.views.length === 1 && term.views[0].kernel.name === "linear" ? term.views[0] : null;
}

// What each column adds to the value of a linear term's vectors, against the mean of other rows.
function linearWithin(machine, term, member, k, z, others) {
  const view = linearView(term),
    w = view.kernel.metric;
  return term.weights.map((_, r) => {
    const own = new Float64Array(machine.columns.length);
    view.columns.forEach((column, j) => {
      const usual = others.reduce((sum, other) => sum + other[k][column], 0) / others.length;
      own[machine.owner[member.features[column]]] +=
        (Array.isArray(w) ? w[j] : w) * view.basis[r][j] * (z[k][column] - usual);
    });
    return own;
  });
}

function linearShapley(machine, row, scores) {
  const { plain, engine } = machine,
    within = [],
    base = scores.map(() => 0),
    count = machine.background.length;
  machine.background.forEach((other) =>
    engine.scores(other).forEach((f, o) => {
      base[o] += f / count;
    })
  );
  const z = engine.scaled(row),
    others = machine.background.map((other) => engine.scaled(other));
  plain.members.forEach((member, k) =>
    member.terms.forEach((term) => within.push(...linearWithin(machine, term, member, k, z, others)))
  );
  return { values: weighted(machine, within, scores), within, base, scores, exact: true, count };
}

function weighted(machine, within, scores) {
  const values = machine.columns.map(() => scores.map(() => 0));
  within.forEach((own, r) =>
    machine.weights[r].forEach((c, o) =>
      own.forEach((value, j) => {
        values[j][o] += c * value;
      })
    )
  );
  return values;
}

// Multiplications of the Shapley values of a row against one other.
function shapleyCost(machine) {
  const { plain, shapes } = machine;
  if (shapes === null) return Infinity;
  const width = machine.columns.length,
    ofTerm = (term, shape) => 4 * term.weights.length * shape.amounts.length * width * Math.ceil(width / 2);
  return plain.members.reduce(
    (sum, member, k) => sum + member.terms.reduce((own, term, t) => own + ofTerm(term, shapes[k][t]), 0),
    0
  );
}

// {values[column][output], within[vector][column], base[output], exact} of a row; within is of similarities.
function shapleyValues(machine, row) {
  const { plain, engine, shapes } = machine,
    scores = engine.scores(row);
  if (plain.members.every((member) => member.terms.every((term) => linearView(term) !== null)))
    return linearShapley(machine, row, scores);
  const cost = shapleyCost(machine);
  const count = Math.min(machine.background.length, Math.floor(WORK / cost));
  if (count < Math.min(5, machine.background.length)) return sampledShapley(machine, row, scores);
  const background = machine.background.slice(0, count);
  const within = [],
    base = scores.map(() => 0);
  background.forEach((other) =>
    engine.scores(other).forEach((f, o) => {
      base[o] += f / count;
    })
  );
  const z = engine.scaled(row),
    others = background.map((other) => engine.scaled(other));
  plain.members.forEach((member, k) =>
    member.terms.forEach((term, t) => {
      if (shapes[k][t].linear) {
        within.push(...linearWithin(machine, term, member, k, z, others));
        return;
      }
      const rule = gauss(Math.max(1, Math.ceil(machine.columns.length / 2)));
      const present = termFactors(machine, member, term, shapes[k][t], z[k]);
      const absent = others.map((other) => termFactors(machine, member, term, shapes[k][t], other[k]));
      term.weights.forEach((_, r) => {
        const sums = new Float64Array(machine.columns.length);
        absent.forEach((factors) =>
          shapes[k][t].amounts.forEach((amount, q) =>
            productGame(present[r][q], factors[r][q], rule, amount / count, sums)
          )
        );
        within.push(sums);
      });
    })
  );
  return { values: weighted(machine, within, scores), within, base, scores, exact: true, count };
}

// The mean over orders of the columns of what each adds when it takes the row's value, by a seeded sample of orders.
function sampledShapley(machine, row, scores) {
  const { engine } = machine,
    width = machine.columns.length,
    order = Array.from({ length: width }, (_, j) => j);
  const rounds = Math.max(2, Math.min(64, Math.floor(2e7 / (machine.size * width)))),
    base = scores.map(() => 0);
  const values = Array.from({ length: width }, () => scores.map(() => 0));
  let seed = 1;
  const random = () => {
    seed = (seed * 48271) % 2147483647;
    return seed / 2147483647;
  };
  for (let round = 0; round < rounds; round++) {
    if (round % 2 === 0)
      for (let j = width - 1; j > 0; j--) {
        const i = Math.floor(random() * (j + 1));
        [order[i], order[j]] = [order[j], order[i]];
      }
    else order.reverse();
    const now = machine.background[Math.floor(round / 2) % machine.background.length].slice();
    let last = engine.scores(now);
    last.forEach((f, o) => {
      base[o] += f / rounds;
    });
    for (const j of order) {
      machine.columns[j].features.forEach((feature) => {
        now[feature] = row[feature];
      });
      const next = engine.scores(now);
      next.forEach((f, o) => {
        values[j][o] += (f - last[o]) / rounds;
      });
      last = next;
    }
  }
  return { values, within: null, base, scores, exact: false, count: rounds };
}
