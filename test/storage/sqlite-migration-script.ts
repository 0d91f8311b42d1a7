/** Migrates a data file. The process kills itself after the migration with this number, before the commit. */
import { openDatabase } from '../../src/storage/sqlite/database.ts';
import { dataMigrations } from '../../src/storage/sqlite/migrations.ts';

const [path = '', last = ''] = process.argv.slice(2);
const lock = () => ({ [Symbol.dispose]: () => {} });
const kill = () => process.kill(process.pid, 'SIGKILL');
const migrations = dataMigrations.toSpliced(Number(last), 0, () => void kill());
openDatabase({
  path,
  migrations,
  create: false,
  migrates: true,
  cacheKib: 1_024,
  busyTimeoutMs: 0,
  lock,
});
