/** Backs up a service under load, kills one of the processes at some point of the backup, and restores it elsewhere. */
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { commandLine, type Ended, ended } from '../support/cli.ts';
import { clientOf } from '../support/client.ts';
import { type TemporaryFolder, temporaryFolder } from '../support/folder.ts';
import { ample, dataFileIn, issueKey, type Service, settingsIn, startService } from '../support/process.ts';
import { childrenOf, isRunning } from '../support/process-tree.ts';
import { randomFrom } from '../support/random.ts';
import { until } from '../support/wait.ts';
import { Writers } from './kill-load.ts';
import { type Acknowledged, checkStored, storedAnimals } from './stored.ts';

/** Who is killed: the service, the command, or the process that makes the file for it. */
const victims = ['service', 'command', 'maker'] as const;
/** When: as the command starts, as the process that makes the file does, as there is a file, or as it has its name. */
const points = ['started', 'making', 'written', 'named'] as const;
/** Each backup follows a number of acknowledged animals between these. */
const acknowledgedBefore = { least: 40, most: 240 } as const;
/** The restored store is served in one of this many rounds. */
const servedEvery = 5;

export interface BackupRoundsOptions {
  readonly rounds: number;
  readonly seed: number;
  readonly progress?: (line: string) => void;
}

export interface BackupFigures {
  /** Animals that were acknowledged before a backup began, over all rounds: all were restored. */
  acknowledgedBefore: number;
  /** Animals that were restored. */
  restored: number;
  /** Backups that were interrupted before they had their name. */
  interrupted: number;
  slowestBackupMs: number;
}

/** Throws at the first promise that is broken. */
export async function backupRounds({ rounds, seed, progress }: BackupRoundsOptions): Promise<BackupFigures> {
  const random = randomFrom(seed);
  const figures: BackupFigures = { acknowledgedBefore: 0, restored: 0, interrupted: 0, slowestBackupMs: 0 };
  await using folder = await temporaryFolder();
  let lastId = 0;
  for (let round = 1; round <= rounds; round++) {
    const victim = victims[round % victims.length] as (typeof victims)[number];
    const point = points[Math.floor(random() * points.length)] as (typeof points)[number];
    await using service = await startService(folder.path, { LOG_LEVEL: 'warn', DRAIN_SECONDS: '0' });
    const key = await issueKey(folder.path, 'enterprise', ample);
    const animals = new Writers();
    const load = animals.run(clientOf(service.url, key), `round ${round}`);
    const { least, most } = acknowledgedBefore;
    await animals.reached(least + Math.floor(random() * (most - least)));

    const before = [...animals.acknowledged];
    const from = performance.now();
    const backingUp = startBackup(folder.path);
    await reached(point, folder.path, backingUp);
    const makers = childrenOf(backingUp.pid);
    const killed = kill(victim, service, backingUp.pid);
    const result = await backingUp.ended;
    // It notices at its end that the command is gone, and then removes what it wrote.
    await until(() => !makers.some(isRunning));
    figures.slowestBackupMs = Math.max(figures.slowestBackupMs, Math.round(performance.now() - from));
    if (!existsSync(backupIn(folder.path))) {
      if (!killed || victim === 'service') throw new Error(`No backup was made: ${result.stderr}`);
      figures.interrupted++;
      // What it left behind does not disturb the next one.
      const { exitCode, stderr } = await startBackup(folder.path).ended;
      if (exitCode !== 0) throw new Error(`The next backup failed: ${stderr}`);
    } else if (result.exitCode !== 0 && victim === 'service') throw new Error(`It failed: ${result.stderr}`);
    service.signal('SIGKILL');
    await Promise.all([service.exited, load]);

    const restored = await checkRestored(
      folder,
      lastId,
      before,
      animals,
      round % servedEvery === 0 ? key : undefined,
    );
    lastId = [...storedAnimals(dataFileIn(folder.path), lastId).values()].at(-1) ?? lastId;
    figures.acknowledgedBefore += before.length;
    figures.restored += restored;
    progress?.(
      `round ${round}: ${victim} killed when ${point}, ${before.length} acknowledged before, ${restored} restored`,
    );
  }
  return figures;
}

const backupIn = (folder: string) => join(folder, 'made.backup');

/** Resolves when the backup has come to this point, or ended. */
async function reached(point: (typeof points)[number], folder: string, backup: RunningBackup): Promise<void> {
  let isOver = false;
  void backup.ended.then(() => {
    isOver = true;
  });
  const isThere = {
    started: () => true,
    making: () => childrenOf(backup.pid).length > 0,
    written: () => readdirSync(folder).some((name) => name.endsWith('.partial')),
    named: () => existsSync(backupIn(folder)),
  }[point];
  await until(() => isOver || isThere());
}

interface RunningBackup {
  readonly pid: number;
  readonly ended: Promise<Ended>;
}

function startBackup(folder: string): RunningBackup {
  const child = Bun.spawn([...commandLine, 'backup', 'made.backup'], {
    cwd: folder,
    env: { PATH: process.env.PATH ?? '', ...settingsIn(folder) },
    stdin: 'pipe',
    stdout: 'pipe',
    stderr: 'pipe',
  });
  return { pid: child.pid, ended: ended(child) };
}

/** Kills one of them; false when it has ended already. */
function kill(victim: (typeof victims)[number], service: Service, command: number): boolean {
  const pid = victim === 'service' ? service.pid : victim === 'command' ? command : childrenOf(command)[0];
  if (pid === undefined) return false;
  try {
    process.kill(pid, 'SIGKILL');
    return true;
  } catch {
    return false;
  }
}

/** Restores the backup to another folder and compares the animals of the round; returns how many there are. */
async function checkRestored(
  folder: TemporaryFolder,
  lastId: number,
  before: readonly Acknowledged[],
  animals: Writers,
  servedKey: string | undefined,
): Promise<number> {
  await using elsewhere = await temporaryFolder();
  const restore = Bun.spawn([...commandLine, 'restore', backupIn(folder.path)], {
    env: { PATH: process.env.PATH ?? '', ...settingsIn(elsewhere.path) },
    stdin: 'pipe',
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const { exitCode, stderr } = await ended(restore);
  if (exitCode !== 0) throw new Error(`The backup cannot be restored: ${stderr}`);
  const stored = storedAnimals(dataFileIn(elsewhere.path), lastId);
  checkStored(stored, before, (name) => animals.wasSent(name));
  if (servedKey !== undefined) await checkServed(elsewhere.path, servedKey, before.at(-1));
  rmSync(backupIn(folder.path));
  const left = readdirSync(folder.path).filter((name) => name.includes('partial'));
  if (left.length > 0) throw new Error(`There is left: ${left.join(', ')}`);
  return stored.size;
}

async function checkServed(folder: string, key: string, last: Acknowledged | undefined): Promise<void> {
  await using service = await startService(folder, { LOG_LEVEL: 'warn', DRAIN_SECONDS: '0' });
  const { status, text } = await clientOf(service.url, key).get(`/pets/${last?.id}`);
  if (status !== 200 || !text.includes(`"${last?.name}"`))
    throw new Error(`It is answered ${status}: ${text}`);
}
