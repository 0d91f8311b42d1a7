/** Facts of a store in words, alike in the console and on the command line. */

/** Display names; a fact without one is shown by its name in the API. */
export const factNames: Readonly<Record<string, string>> = {
  sqliteVersion: 'SQLite',
  format: 'Format of the data',
  dataBytes: 'Data',
  walBytes: 'Write-ahead log',
  pageBytes: 'Size of a page',
  freePages: 'Unused pages',
  limitBytes: 'Counts of limits',
  freeBytes: 'Free on the disk',
  groups: 'Commits',
  units: 'Changes committed',
  seconds: 'Time spent committing',
  waiting: 'Changes waiting',
  postgresVersion: 'PostgreSQL',
  postgresTrouble: 'Trouble with PostgreSQL',
  poolConnections: 'Connections to PostgreSQL',
  poolBusy: 'Connections at work',
  poolWaiting: 'Waiting for a connection',
  postgresStatements: 'Statements',
  postgresSeconds: 'Time waited for PostgreSQL',
  redisVersion: 'Redis',
  redisTrouble: 'Trouble with Redis',
  redisRequests: 'Requests to Redis',
  redisSeconds: 'Time waited for Redis',
};

const byteUnits = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'];
const oneDigit = new Intl.NumberFormat('en', { maximumFractionDigits: 1 });

export function bytesText(bytes: number): string {
  const power = bytes < 1 ? 0 : Math.min(Math.floor(Math.log2(bytes) / 10), byteUnits.length - 1);
  return `${oneDigit.format(bytes / 1_024 ** power)} ${byteUnits[power]}`;
}

export function factText(name: string, value: string | number | boolean): string {
  if (typeof value === 'boolean') return value ? 'Yes' : 'No';
  if (typeof value === 'string') return value;
  if (/bytes$/i.test(name)) return bytesText(value);
  return /seconds$/i.test(name) ? `${oneDigit.format(value)} s` : value.toLocaleString('en');
}
