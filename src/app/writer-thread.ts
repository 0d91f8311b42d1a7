/** The thread that writes to an embedded store. It knows all units of work, as app.ts knows all parts. */
import { units } from '../operations/units.ts';
import { runWriterThread } from '../storage/sqlite/writer-thread.ts';

runWriterThread(units);
