import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { basePath } from '../contract/operations.ts';
import type { IssuedKey } from '../operations/keys.ts';
import { messageOf, say, shellWord, styled } from './terminal.ts';

export interface FirstKeyOptions {
  readonly firstKey: IssuedKey;
  /** Where the service listens. */
  readonly url: string;
  readonly databaseUrl: string;
  /** How the command line is called, in the working directory. */
  readonly command: string;
}

/**
 * Says that the store is new and what its first key is. Only a terminal is shown the key: what else reads standard
 * output keeps it, such as a container's log, so the key goes to a file that its owner alone can read.
 */
export function printFirstKey({
  firstKey: { key, accountId },
  url,
  databaseUrl,
  command,
}: FirstKeyOptions): void {
  const here = `cd ${shellWord(process.cwd())} && ${command}`;
  say();
  if (process.stdout.isTTY === true) {
    say('Created a new store. Its first API key (plan free), shown only once:');
    say(`  ${styled('bold', key)}`);
    sayHow(key, url);
  } else {
    const file = fileOf(databaseUrl);
    try {
      writePrivate(file, `${key}\n`);
      say(
        `Created a new store. Its first API key (plan free) is in ${file}; copy the key, then delete the file.`,
      );
      sayHow(`$(cat ${shellWord(file)})`, url);
    } catch (error) {
      say(`Created a new store, but could not write its first API key to ${file}: ${messageOf(error)}.`);
      say('Create another key:');
      say(`  ${here} keys create --account ${accountId} --scopes all`);
    }
  }
  say('Manage accounts and keys:');
  say(`  ${here} --help`);
}

function sayHow(key: string, url: string): void {
  say('Try it:');
  say(`  curl -H "Authorization: Bearer ${key}" ${url}${basePath}/pets`);
}

/** Beside the data file; for a store that is no file, where the embedded one would be. */
function fileOf(databaseUrl: string): string {
  const path = /^sqlite:(?:\/\/)?(.+)$/.exec(databaseUrl)?.[1]?.trim();
  return resolve(`${path ?? 'data/animal-store'}.first-key`);
}

/** Writes a file that nobody but its owner may read. */
function writePrivate(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  rmSync(file, { force: true });
  writeFileSync(file, text, { mode: 0o600, flag: 'wx' });
}
