/** A unit, and the rows that it read and changed. */
interface Touching {
  readonly changes: { readonly touched: Iterable<unknown> };
}

/**
 * Units that touched the same rows. Each unit saw the changes of earlier units, so the changes are stored or discarded
 * as a whole.
 */
export interface Component<Unit> {
  readonly number: number;
  readonly units: readonly Unit[];
}

/** Groups units into connected components by the rows that they touched. */
export function componentsOf<Unit extends Touching>(units: readonly Unit[]): Component<Unit>[] {
  const parents = units.map((_, index) => index);
  const rootOf = (index: number): number => {
    let root = index;
    while (parents[root] !== root) root = parents[root] as number;
    parents[index] = root;
    return root;
  };
  const first = new Map<unknown, number>();
  for (const [index, { changes }] of units.entries()) {
    for (const touched of changes.touched) {
      const other = first.get(touched);
      if (other === undefined) first.set(touched, index);
      else parents[rootOf(index)] = rootOf(other);
    }
  }
  const members = new Map<number, Unit[]>();
  for (const [index, unit] of units.entries()) {
    const root = rootOf(index);
    const known = members.get(root);
    if (known === undefined) members.set(root, [unit]);
    else known.push(unit);
  }
  return [...members].map(([number, its]) => ({ number, units: its }));
}
