/** The table of both sides of every bound, row by row over HTTP. */
import { checkResponse } from '../support/contract.ts';
import { boundsTable, type Row } from './bounds-table.ts';
import { Failures, same } from './failures.ts';
import { bytesOf } from './generate/http.ts';
import { provingService } from './service.ts';
import type { StressOptions, StressTest } from './stress-test.ts';
import { overWires, type Wire } from './wire.ts';

const connections = 16;

async function check(wire: Wire, { what, request, status }: Row): Promise<void> {
  const response = await wire.send(bytesOf(request));
  same(`${what}: the status`, response.status, status);
  checkResponse(request.method, request.target, response);
}

/** Runs the whole table; `rounds` is how often. */
export async function bothSidesOfBounds({ rounds, seed, progress }: StressOptions) {
  await using service = await provingService();
  const rows = boundsTable(service.key);
  const failures = new Failures(seed);
  for (let round = 1; round <= rounds; round++) {
    progress(`round ${round} of ${rounds}`);
    await overWires(service.url, connections, rows.length, (wire, index) =>
      failures.guard(`row ${index}`, () => check(wire, rows[index] as Row)),
    );
  }
  service.checkRunning();
  failures.end();
  return { rows: rows.length, 'of these inside': rows.filter(({ status }) => status < 300).length };
}

export const bounds: StressTest = {
  name: 'bounds',
  promise: 'every bound of the contract holds on both its sides',
  rounds: 10,
  run: bothSidesOfBounds,
};
