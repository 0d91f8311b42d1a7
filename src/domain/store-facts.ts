/** Display names of store facts, shared by the console and the command line. */

const factNames: Readonly<Record<string, string>> = {
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
  primaryReads: 'Reads for which no replica was up to date',
  redisVersion: 'Redis',
  redisTrouble: 'Trouble with Redis',
  redisRequests: 'Requests to Redis',
  redisSeconds: 'Time waited for Redis',
};

const replicaFacts: Readonly<Record<string, string>> = {
  '': '',
  InUse: ': in use',
  LagSeconds: ': behind the primary, at most',
  Reads: ': reads',
  Trouble: ': trouble',
};

/** The display name of a fact; undefined for those of a newer service. */
export function factName(name: string): string | undefined {
  const [, number, suffix = ''] = /^replica(\d+)(\w*)$/.exec(name) ?? [];
  const ofReplica = replicaFacts[suffix];
  if (number === undefined || ofReplica === undefined) return factNames[name];
  return `Read replica ${number}${ofReplica}`;
}

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
