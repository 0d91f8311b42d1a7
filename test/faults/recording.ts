/** Records every response, and every system call in any thread that changes the service's files. */
import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { header } from '../../src/limits/file/layout.ts';
import { temporaryFolder } from '../support/folder.ts';
import { limitFileIn, serveCommand, startService } from '../support/process.ts';
import { childrenOf } from '../support/process-tree.ts';
import { until } from '../support/wait.ts';
import { changedSectors, type Sector } from './sectors.ts';
import type { Acknowledged } from './stored.ts';
import { callsIn, type TracedCall } from './strace.ts';

/** A file operation or a response of the traced service. Paths are relative to the store's folder. */
export type Event =
  | { readonly kind: 'create' | 'unlink' | 'sync'; readonly path: string }
  | { readonly kind: 'rename'; readonly path: string; readonly to: string }
  | { readonly kind: 'write'; readonly path: string; readonly offset: number; readonly data: Uint8Array }
  | { readonly kind: 'truncate'; readonly path: string; readonly size: number }
  /** The disk sectors of a mapped file that changed since the last `mapped` event. */
  | {
      readonly kind: 'mapped';
      readonly path: string;
      readonly sectors: readonly Sector[];
      /** Number of responses sent so far. */
      readonly answered: number;
    }
  /** A 201 response with the acknowledged animal. */
  | { readonly kind: 'answer'; readonly pet: Acknowledged };

/** Path of the folder itself. It must be synced to make the names in it durable. */
export const folderItself = '';

const calls = 'openat,unlink,rename,pwrite64,write,writev,fsync,fdatasync,ftruncate,sendto,sendmsg';
/** Maximum length of a string in the trace. Longer than the data of any single write. */
const longestText = 16_777_216;

export interface Recording {
  /** Contents of the files before the first event, all synced. */
  readonly initial: ReadonlyMap<string, Buffer>;
  readonly events: readonly Event[];
}

interface RecordOptions {
  /** Creates the store and returns a key. If undefined, the service creates the store and a key on the Free plan. */
  readonly prepare?: (folder: string) => Promise<string>;
  readonly load: (url: string, key: string, limits: LimitLooks) => Promise<void>;
}

/** Changes to the limit file that were detected after `answered` responses. */
interface Look {
  readonly answered: number;
  readonly sectors: readonly Sector[];
}

/** Detects changes to the mapped limit file, which are made without system calls. */
class LimitLooks {
  readonly all: Look[] = [];
  readonly #path: string;
  #last = Buffer.alloc(0);

  constructor(path: string) {
    this.#path = path;
  }

  /**
   * Records the current limit file. Call this after `answered` requests have returned 201, while no request is in
   * flight.
   */
  look(answered: number): void {
    const bytes = readFileSync(this.#path);
    this.all.push({ answered, sectors: changedSectors(this.#last, bytes) });
    this.#last = bytes;
  }

  /** Resolves when the sync of the limit file's changes has begun. */
  async synced(): Promise<void> {
    await until(() => new Int32Array(readFileSync(this.#path).buffer)[header.changed] === 0);
  }
}

/** Traces a service under load with strace, and returns the service's actions. */
export async function record({ prepare, load }: RecordOptions): Promise<Recording> {
  await using folder = await temporaryFolder();
  await using out = await temporaryFolder();
  const prepared = await prepare?.(folder.path);
  const initial = filesIn(folder.path);
  const file = join(out.path, 'trace');
  const tracer = ['strace', '-f', '-qq', '-y', '-xx', '-s', `${longestText}`, '-e', 'signal=none'];
  await using service = await startService(folder.path, { DRAIN_SECONDS: '0', LOG_LEVEL: 'silent' }, [
    ...[...tracer, '-e', `trace=${calls}`, '-o', file],
    ...serveCommand,
  ]);
  const looks = new LimitLooks(limitFileIn(folder.path));
  await load(service.url, prepared ?? service.firstKey ?? '', looks);
  // strace does not forward signals, so signals go to its only child, which is the service.
  const [child] = childrenOf(service.pid);
  if (child === undefined) throw new Error('The traced service is not running.');
  process.kill(child, 'SIGTERM');
  if ((await service.exited) !== 0) throw new Error(`The traced service failed: ${service.stderr()}`);
  const lines = (await Bun.file(file).text()).split('\n');
  return { initial, events: eventsOf(callsIn(lines), looks.all, folder.path) };
}

function filesIn(folder: string): Map<string, Buffer> {
  return new Map(readdirSync(folder).map((name) => [name, readFileSync(join(folder, name))]));
}

interface Timed<What> {
  /** Line number in the trace. A fraction is a position between two lines. */
  readonly at: number;
  readonly what: What;
}

/**
 * Orders actions by the time at which they take effect. A change or sync takes effect when its system call has ended,
 * but a response may reach the client as soon as its system call has begun.
 */
function eventsOf(calls: readonly TracedCall[], looks: readonly Look[], folder: string): Event[] {
  const done = calls
    .flatMap((call): Timed<{ event: Event; call: TracedCall }>[] => {
      const event = eventOf(call, folder);
      if (event === undefined) return [];
      return [{ at: event.kind === 'answer' ? call.begunAt : call.endedAt, what: { event, call } }];
    })
    .toSorted((one, other) => one.at - other.at);
  const changedAt = new Map<string, number>();
  const events: Timed<Event>[] = [];
  for (const { at, what } of done) {
    const { event, call } = what;
    if (event.kind !== 'answer') {
      // A sync is ignored if the file was written during the sync, because the written data may not be synced.
      if (event.kind === 'sync' && (changedAt.get(event.path) ?? -1) > call.begunAt) continue;
      changedAt.set(event.path, at);
    }
    events.push({ at, what: event });
  }
  const path = basename(limitFileIn(folder));
  const syncs = done.filter(({ what: { event } }) => event.kind === 'sync' && event.path === path);
  const answers = done.filter(({ what: { event } }) => event.kind === 'answer');
  for (const { answered, sectors } of looks) {
    const seenAt = answers[answered - 1]?.at;
    if (seenAt === undefined) throw new Error(`There is no response ${answered}.`);
    const syncing = syncs.find(({ at, what: { call } }) => call.begunAt < seenAt && seenAt < at);
    events.push({ at: (syncing?.at ?? seenAt) + 0.5, what: { kind: 'mapped', path, sectors, answered } });
  }
  return events.toSorted((one, other) => one.at - other.at).map(({ what }) => what);
}

function isSending(name: string): boolean {
  return name.startsWith('send') || name === 'writev';
}

/** Converts a system call to an event. Returns undefined if the call failed or is irrelevant. */
function eventOf({ name, text, result }: TracedCall, folder: string): Event | undefined {
  if (result < 0) return undefined;
  if (isSending(name)) return answerOf(text);
  const path = pathOf(name, text, folder);
  if (path === undefined) return undefined;
  switch (name) {
    case 'openat':
      return text.includes('O_CREAT') ? { kind: 'create', path } : undefined;
    case 'unlink':
      return { kind: 'unlink', path };
    case 'rename':
      return { kind: 'rename', path, to: inFolder(/, "([^"]*)"/.exec(text)?.[1] ?? '', folder) ?? '' };
    case 'fsync':
    case 'fdatasync':
      return { kind: 'sync', path };
    case 'ftruncate':
      return { kind: 'truncate', path, size: Number(/, (\d+)$/.exec(text)?.[1]) };
    case 'pwrite64': {
      const [, data = '', offset] = /"([^"]*)", \d+, (\d+)$/.exec(text) ?? [];
      return { kind: 'write', path, offset: Number(offset), data: bytesOf(data) };
    }
    default:
      throw new Error(
        `The store is written with ${name}, which the model does not support: ${text.slice(0, 200)}`,
      );
  }
}

/** Path of the file that a call affects, relative to the folder. Undefined for files outside the folder. */
function pathOf(name: string, text: string, folder: string): string | undefined {
  const byName = name === 'openat' || name === 'unlink' || name === 'rename';
  const hex = (byName ? /"([^"]*)"/ : /^\d+<([^>]*)>/).exec(text)?.[1] ?? '';
  return inFolder(hex, folder);
}

function inFolder(hex: string, folder: string): string | undefined {
  const path = Buffer.from(bytesOf(hex)).toString();
  if (path === folder) return folderItself;
  // The file that contains the initial key is not part of the store.
  if (path.endsWith('.first-key')) return undefined;
  return path.startsWith(`${folder}/`) ? path.slice(folder.length + 1) : undefined;
}

function answerOf(text: string): Event | undefined {
  const sent = Buffer.from(bytesOf(/"([^"]*)"/.exec(text)?.[1] ?? '')).toString();
  if (!sent.startsWith('HTTP/1.1 201 ')) return undefined;
  return { kind: 'answer', pet: JSON.parse(sent.slice(sent.indexOf('\r\n\r\n'))) as Acknowledged };
}

function bytesOf(hex: string): Uint8Array {
  return Buffer.from(hex.replaceAll('\\x', ''), 'hex');
}
