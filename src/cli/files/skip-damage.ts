import { DataDamagedError } from '../../app/app.ts';
import { int64Max } from '../../contract/json.ts';
import type { Awaitable } from '../../domain/awaitable.ts';

/** The rows with these ids, both included, cannot be read. */
export interface DamagedPart {
  readonly from: bigint;
  readonly to: bigint;
}

/** Reads at most `limit` rows with ids greater than `after`, by ascending id. */
type Read<Row> = (after: bigint, limit: number) => Awaitable<readonly Row[]>;

/** Number of ids that are tried one by one, so that intact rows between two damaged parts are not skipped. */
const adjacentIds = 4_096n;

/** Reads a table of an embedded store in batches of `length` rows. Reports and skips the parts that are damaged. */
export async function* readUndamaged<Row extends { readonly id: bigint }>(
  length: number,
  read: Read<Row>,
  report: (damaged: DamagedPart) => void,
): AsyncGenerator<readonly Row[]> {
  const attempt = (after: bigint, limit: number) => readIfUndamaged(() => read(after, limit));
  let limit = length;
  for (let after = 0n; ; ) {
    const rows = await attempt(after, limit);
    if (rows !== undefined) {
      yield rows;
      if (rows.length < limit) return;
      after = rows.at(-1)?.id ?? after;
    } else if (limit > 1) {
      // The first rows of the batch may be before the damaged part.
      limit = 1;
    } else {
      const to = await findDamageEnd(after, async (id) => (await attempt(id, 1)) !== undefined);
      report({ from: after + 1n, to });
      if (to === int64Max) return;
      after = to;
      limit = length;
    }
  }
}

async function readIfUndamaged<Rows>(read: () => Awaitable<Rows>): Promise<Rows | undefined> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof DataDamagedError) return undefined;
    throw error;
  }
}

/** The lowest id greater than `after` for which the rows with greater ids can be read; the greatest id if there is none. */
async function findDamageEnd(after: bigint, isReadable: (id: bigint) => Promise<boolean>): Promise<bigint> {
  let [low, high] = [after, after];
  do {
    if (high === int64Max) return high;
    low = high;
    const next = high < after + adjacentIds ? high + 1n : high + (high - after);
    high = next < int64Max ? next : int64Max;
  } while (!(await isReadable(high)));
  while (high - low > 1n) {
    const middle = (low + high) / 2n;
    if (await isReadable(middle)) high = middle;
    else low = middle;
  }
  return high;
}
