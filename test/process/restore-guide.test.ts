/** Runs the commands for backup and restore from the operator guide. */
import { expect, test } from 'bun:test';
import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { shellWord } from '../../src/cli/terminal.ts';
import { commandLine } from '../support/cli.ts';
import { clientOf } from '../support/client.ts';
import { temporaryFolder } from '../support/folder.ts';
import { finished, root, settingsIn, startService } from '../support/process.ts';

/** The code blocks of a section in docs/backup.md, modified to run the program from this checkout. */
async function commandsOf(heading: string): Promise<string[]> {
  const page = await Bun.file(join(root, 'docs/backup.md')).text();
  const [, section = ''] = page.split(`\n## ${heading}\n`);
  const blocks = section.slice(0, section.indexOf('\n## ')).matchAll(/^```sh\n([\s\S]*?)^```$/gm);
  const program = commandLine.map(shellWord).join(' ');
  const texts = [...blocks].map(([, text = '']) => text.replaceAll('npx animal-store', program));
  expect(texts).not.toEqual([]);
  return texts;
}

/** Runs a section's commands on the store in this folder, and returns the output. */
async function run(heading: string, folder: string): Promise<string> {
  let said = '';
  for (const commands of await commandsOf(heading)) {
    const environment = settingsIn(folder);
    const { stdout, ...ended } = await finished(['sh', '-e', '-c', commands], { cwd: folder, environment });
    expect({ commands, ...ended }).toEqual({ commands, exitCode: 0, stderr: '' });
    said += stdout;
  }
  return said;
}

test('the documented commands back up a running service and restore its animals, keys and counts', async () => {
  await using folder = await temporaryFolder();
  let key = '';
  {
    await using service = await startService(folder.path);
    key = service.firstKey ?? '';
    const client = clientOf(service.url, key);
    expect((await client.add('Before')).status).toBe(201);
    expect(await run('Create a backup', folder.path)).toContain('Backed up 1 animal ');
    expect((await client.add('After')).status).toBe(201);
  }
  expect(await run('Verify', folder.path)).toContain('friday.backup is intact.');
  expect(await run('Restore', folder.path)).toContain('Restored 1 animal,');
  expect(await run('Restore drills', folder.path)).toContain('1');
  expect(existsSync(join(folder.path, 'drill/animal-store.db'))).toBe(true);

  await using service = await startService(folder.path);
  const client = clientOf(service.url, key);
  expect(JSON.parse((await client.get('/pets')).text)).toMatchObject([{ id: 1, name: 'Before' }]);
  const { day } = JSON.parse((await client.get('/rate-limit')).text);
  expect(day.limit - day.remaining).toBe(2);
  // A new event must not reuse the id of an event in the replaced store, because a client may have read it.
  expect((await client.add('Later')).status).toBe(201);
  expect((await client.get('/events?after=2')).status).toBe(410);
});

test('the service creates backups as documented', async () => {
  await using folder = await temporaryFolder();
  const backups = join(folder.path, 'backups');
  await mkdir(backups);
  const [commands = ''] = await commandsOf('Scheduled backups');
  const settings = Object.fromEntries(
    [...commands.matchAll(/(BACKUP_\w+)=(\S+)/g)].map(([, name, value]) => [name, value]),
  );
  expect(Object.keys(settings)).toEqual(['BACKUP_FOLDER', 'BACKUP_EVERY', 'BACKUP_KEEP']);
  await using service = await startService(folder.path, { ...settings, BACKUP_FOLDER: backups });
  await service.logged('backup made');
});
