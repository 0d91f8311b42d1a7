/** The thread that writes to an embedded store. It imports all units of work. */
import { units } from '../operations/units.ts';
import { runWriterThread } from '../storage/sqlite/writer-thread.ts';

runWriterThread(units);
