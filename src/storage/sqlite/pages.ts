/**
 * A page of what an index has under one value and any status: the ranges of the statuses, each by ascending id, merged as
 * far as the page goes. `select` lists one status; the page is `?3` long.
 */
export function mergedPage<Status extends string>(
  statuses: readonly Status[],
  select: (status: Status) => string,
): string {
  return `${statuses.map(select).join(' UNION ALL ')} ORDER BY id LIMIT ?3`;
}
