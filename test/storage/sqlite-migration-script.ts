/** Brings a data file up to date, to be killed meanwhile by sqlite-migration.test.ts. */
import { openDatabase } from '../../src/storage/sqlite/database.ts';
import { dataFormat } from '../../src/storage/sqlite/migrations.ts';

const [path = ''] = process.argv.slice(2);
const lock = () => ({ [Symbol.dispose]: () => {} });
openDatabase({ path, format: dataFormat, create: false, busyTimeoutMs: 0, lock }).close();
