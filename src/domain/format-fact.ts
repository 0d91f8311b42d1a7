/** Display names of store facts, shared by the console and the command line. */

const factNames: Readonly<Record<string, string>> = {
  sqliteVersion: 'SQLite',
  format: 'Data format',
  dataBytes: 'Data',
  walBytes: 'Write-ahead log',
  pageBytes: 'Page size',
  freePages: 'Unused pages',
  limitBytes: 'Rate-limit counters',
  freeBytes: 'Free disk space',
  groups: 'Commits',
  units: 'Committed changes',
  seconds: 'Time spent committing',
  waiting: 'Pending changes',
  postgresVersion: 'PostgreSQL',
  postgresTrouble: 'PostgreSQL problem',
  poolConnections: 'PostgreSQL connections',
  poolBusy: 'Busy connections',
  poolWaiting: 'Requests waiting for a connection',
  postgresStatements: 'Statements',
  postgresSeconds: 'Time spent waiting for PostgreSQL',
  primaryReads: 'Reads on the primary because no replica was up to date',
  redisVersion: 'Redis',
  redisTrouble: 'Redis problem',
  redisRequests: 'Requests to Redis',
  redisSeconds: 'Time spent waiting for Redis',
};

const replicaFacts: Readonly<Record<string, string>> = {
  '': '',
  InUse: ': in use',
  LagSeconds: ': maximum lag',
  Reads: ': reads',
  Trouble: ': problem',
};

/** The display name of a fact; undefined for a fact that only newer versions of the service report. */
export function factLabel(name: string): string | undefined {
  const [, number, suffix = ''] = /^replica(\d+)(\w*)$/.exec(name) ?? [];
  const ofReplica = replicaFacts[suffix];
  if (number === undefined || ofReplica === undefined) return factNames[name];
  return `Read replica ${number}${ofReplica}`;
}

const byteUnits = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'];
const numberFormat = new Intl.NumberFormat('en', { maximumFractionDigits: 1 });

export function formatBytes(bytes: number): string {
  const power = bytes < 1 ? 0 : Math.min(Math.floor(Math.log2(bytes) / 10), byteUnits.length - 1);
  return `${numberFormat.format(bytes / 1_024 ** power)} ${byteUnits[power]}`;
}

export function formatFact(name: string, value: string | number | boolean): string {
  if (typeof value === 'boolean') return value ? 'Yes' : 'No';
  if (typeof value === 'string') return value;
  if (/bytes$/i.test(name)) return formatBytes(value);
  return /seconds$/i.test(name) ? `${numberFormat.format(value)} s` : value.toLocaleString('en');
}
