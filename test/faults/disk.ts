import { expect } from 'bun:test';
import { appendFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Client, Reply } from '../support/client.ts';
import { dataFileIn } from '../support/process.ts';
import { storedAnimals } from './stored.ts';

/** Arguments for `testWith` that skip a test where `limitFileSize` is not available. */
export const fileSizeLimits = [{ name: 'prlimit', package: 'util-linux' }, ['prlimit', '--version']] as const;

/**
 * Limits the size of files that the process writes. Writes beyond the limit fail with EFBIG. SQLite reports the same
 * error for EFBIG as for EROFS and EIO.
 */
export function limitFileSize(pid: number, bytes: number | 'unlimited'): void {
  // Sets only the soft limit, which can be raised again without privileges.
  const { exitCode, stderr } = Bun.spawnSync(['prlimit', '--pid', String(pid), `--fsize=${bytes}:`]);
  if (exitCode !== 0) throw new Error(`prlimit failed: ${stderr}`);
}

/** Returns a command that runs a program with a small disk mounted at the folder. */
export function onSmallDisk(folder: string, access: 'rw' | 'ro', program: readonly string[]): string[] {
  const script = `mount -t tmpfs -o size=4m,${access} animal-store "$0" && exec "$@"`;
  return ['unshare', '--map-root-user', '--mount', 'sh', '-c', script, folder, ...program];
}

/** Arguments for `testWith` that skip a test where `onSmallDisk` is not available. */
export const smallDisks = [
  { name: 'permission to create private mounts (user namespaces)', package: 'util-linux', optional: true },
  onSmallDisk(tmpdir(), 'rw', ['true']),
] as const;

/** Fills the disk that the process has mounted at the folder. Returns a function that frees the space. */
export function fillDisk(pid: number, folder: string): () => void {
  const ballast = join(`/proc/${pid}/root`, folder, 'ballast');
  for (const bytes of [65_536, 4_096, 1]) {
    const chunk = Buffer.alloc(bytes);
    try {
      for (;;) appendFileSync(ballast, chunk);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
    }
  }
  return () => rmSync(ballast);
}

/** Expects a 503 with Retry-After. With `remainingBefore`, also checks that the 503 did not count against the limit. */
export function expectUnavailable(reply: Reply, remainingBefore = reply.remaining): void {
  const { status, headers, text, remaining } = reply;
  expect([status, JSON.parse(text).code]).toEqual([503, 'service_unavailable']);
  expect(Number(headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
  expect(remaining).toBe(remainingBefore);
}

/** Adds animals concurrently. Returns the ids of the stored animals, keyed by name, and the error responses. */
export async function addAll(
  client: Client,
  names: readonly string[],
): Promise<{ stored: Map<string, number>; refused: Reply[] }> {
  const replies = await Promise.all(names.map((name) => client.add(name)));
  const stored = new Map<string, number>();
  const refused: Reply[] = [];
  for (const reply of replies) {
    if (reply.status === 201) {
      const { id, name } = JSON.parse(reply.text) as { id: number; name: string };
      stored.set(name, id);
    } else refused.push(reply);
  }
  return { stored, refused };
}

/** Expects the data file to be intact and to contain exactly these animals. */
export function expectStored(folder: string, stored: ReadonlyMap<string, number>): void {
  expect([...storedAnimals(dataFileIn(folder))].toSorted()).toEqual([...stored].toSorted());
}
