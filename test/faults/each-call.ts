/** Kills a command before each system call that changes files, so that every possible intermediate state is tested. */
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '../support/folder.ts';
import { program, settingsIn } from '../support/process.ts';
import { callsIn } from './strace.ts';

/** System calls that change a file or a file name. */
const changing =
  'write,pwrite64,pwritev,ftruncate,fsync,fdatasync,rename,renameat,renameat2,link,linkat,unlink,unlinkat';

interface EachCall {
  /** Folder with the files before the command. */
  readonly folder: string;
  readonly words: readonly string[];
  /** Names of the files to trace. The folder itself is always traced. */
  readonly files: readonly string[];
  /** Checks the folder after the command has exited or been killed. */
  readonly check: (folder: string, killedAt: string) => Promise<void>;
}

/**
 * Checks the state after a complete run, and then after a kill at each system call. The first kill comes before any
 * change, so the state before the command is also checked. Of identical consecutive calls, only the first is tested. A
 * call after a sync is skipped, because a sync makes no difference to a killed process.
 */
export async function killAtEachCall({ folder, words, files, check }: EachCall): Promise<void> {
  const points = pointsOf(await traced(folder, words, files, undefined, (place) => check(place, 'no call')));
  for (const { name, number, text } of points) {
    await traced(folder, words, files, `${name}:signal=KILL:when=${number}`, (place) =>
      check(place, `${name}(${text})`),
    );
  }
}

interface Point {
  readonly name: string;
  /** Position of the call among the calls with the same name. */
  readonly number: number;
  readonly text: string;
}

function pointsOf(lines: readonly string[]): Point[] {
  const threads = Map.groupBy(lines, (line) => /^\d+/.exec(line)?.[0] ?? '');
  return [...threads.values()].flatMap((own) => {
    const counts = new Map<string, number>();
    const calls = callsIn(own).map(({ name, text }) => {
      const number = (counts.get(name) ?? 0) + 1;
      counts.set(name, number);
      return { name, number, text: text.slice(0, 100) };
    });
    return calls.filter(
      (call, index) => kindOf(call) !== kindOf(calls[index - 1]) && !isSync(calls[index - 1]),
    );
  });
}

const isSync = (call: Point | undefined) => call?.name === 'fsync' || call?.name === 'fdatasync';

/** The name of the system call, and the name of the file if the trace contains it. */
function kindOf(call: Point | undefined): string {
  return `${call?.name} ${/<[^>]*>/.exec(call?.text ?? '')?.[0]}`;
}

/** Runs the command in a copy of the folder, and returns the lines of the system call trace. */
async function traced(
  folder: string,
  words: readonly string[],
  files: readonly string[],
  inject: string | undefined,
  check: (place: string) => Promise<void>,
): Promise<string[]> {
  await using place = await temporaryFolder();
  await using notes = await temporaryFolder();
  cpSync(folder, place.path, { recursive: true });
  const trace = join(notes.path, 'trace');
  const child = Bun.spawn(
    [
      'strace',
      ...['-f', '-qq', '-y', '-o', trace, '-e', `trace=${changing}`],
      ...(inject === undefined ? [] : ['-e', `inject=${inject}`]),
      ...[place.path, ...files.map((name) => join(place.path, name))].flatMap((path) => ['-P', path]),
      ...program,
      ...words,
    ],
    {
      cwd: place.path,
      env: { PATH: process.env.PATH ?? '', ...settingsIn(place.path) },
      stdin: 'ignore',
      stdout: 'ignore',
      stderr: 'ignore',
    },
  );
  await child.exited;
  await check(place.path);
  return (await Bun.file(trace).text()).split('\n');
}
