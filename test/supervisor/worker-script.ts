/** A worker that serves no requests, started by supervisor.test.ts. Its settings determine its behavior. */
import { existsSync } from 'node:fs';
import { SupervisorLink } from '../../src/supervisor/link.ts';

using link = new SupervisorLink(() => process.exit(1));
const { environment, worker, workers, port } = await link.started;
if (environment.DIE === String(worker)) process.exit(7);
if (environment.UNLESS !== undefined && existsSync(environment.UNLESS)) {
  link.reportFailure({ message: `${worker} of ${workers} cannot`, code: 'EADDRINUSE' });
  process.exit(1);
}
link.store.post({ pid: process.pid, bytes: new Uint8Array([1, 2]), big: 2n ** 63n });
// Echoes messages from the supervisor's store.
link.store.listen((message) => link.store.post(message));
link.reportServing({ url: `http://worker-${worker}`, port: port || 40_000 + worker });
await link.stopped;
