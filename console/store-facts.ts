/** What the facts of a store are called; those of a newer service are told by their own names. */
import type { AnswerOf } from './contract.ts';
import { bytes, grouped, rate } from './format.ts';
import { spaced } from './words.ts';

type Facts = AnswerOf<'GET /system'>['store'];

const names: Readonly<Record<string, string>> = {
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

/** Names with values, as people read them; what is not there is left out. */
export function factsInWords(facts: Facts): [name: string, value: string][] {
  return Object.entries(facts)
    .filter(([, fact]) => fact !== null)
    .map(([name, fact]) => [names[name] ?? spaced(name), factText(name, fact)]);
}

function factText(name: string, fact: Facts[string] | undefined): string {
  if (typeof fact === 'boolean') return fact ? 'Yes' : 'No';
  if (typeof fact !== 'number') return String(fact);
  if (/bytes$/i.test(name)) return bytes(fact);
  return /seconds$/i.test(name) ? `${rate(fact)} s` : grouped(fact);
}
