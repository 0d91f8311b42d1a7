/** A process that holds the lock writers need, until it gets SIGUSR1 and 100 ms have passed. */
import { lock } from '../support/lock.ts';

const held = lock(process.argv[2] ?? '');
process.on('SIGUSR1', () => setTimeout(held.release, 100));
process.stdout.write('locked\n');
setInterval(() => {}, 60_000);
