/** Runs the tours in the README, docs/tour.md and the guides: the commands of each step must print the documented output. */
import { expect } from 'bun:test';
import { join } from 'node:path';
import { quoteForShell } from '../../src/cli/terminal.ts';
import { startTestApp } from '../support/app.ts';
import { commandLine } from '../support/command.ts';
import { temporaryFolder } from '../support/folder.ts';
import { root, settingsIn, start, startService } from '../support/process.ts';
import { testWith } from '../support/requirements.ts';

const step = /```sh\n([\s\S]*?)```\n(?:```\n([\s\S]*?)```\n)?/g;

/** Returns a pattern that matches the text, in which … stands for any characters. */
function pattern(expected: string): RegExp {
  const literal = expected.trim().replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  return new RegExp(`^\\s*${literal.replace(/…/g, '[\\s\\S]*')}\\s*$`);
}

/** The documents with a tour, and the number of setup steps before the first request. */
const tours: readonly [document: string, settings: number][] = [
  ['README.md', 1],
  ['docs/tour.md', 1],
  ['docs/guides/animals.md', 0],
  ['docs/guides/orders.md', 0],
  ['docs/guides/conditional-requests.md', 0],
];

testWith({ name: 'curl', package: 'curl' }, ['curl', '--version']).each(tours)(
  'the tour of %s prints the documented output',
  async (document, settings) => {
    await using folder = await temporaryFolder();
    await using service = await serve(folder.path, settings > 0);
    const environment = { ...settingsIn(folder.path), KEY: service.key };
    const text = await Bun.file(join(root, document)).text();
    const tour = text.slice(text.indexOf('<!-- tour'), text.indexOf('<!-- /tour'));
    const steps = [...tour.matchAll(step)];
    expect(steps.length).toBeGreaterThan(1 + settings);
    for (const [, commands = '', expected] of steps.slice(settings)) {
      await using shell = start(['sh', '-c', inFolder(commands, `'${folder.path}/'`)], {
        environment: { ...environment, API: `${service.url}/v1` },
      });
      await shell.exited;
      if (expected !== undefined)
        expect(shell.stdout().replaceAll('\r', '')).toMatch(pattern(inFolder(expected, `${folder.path}/`)));
    }
  },
);

/** Starts the service in a separate process if the document starts it. Guides only send requests. */
async function serve(folder: string, isProcess: boolean) {
  if (!isProcess) return startTestApp();
  const service = await startService(folder);
  return Object.assign(service, { key: service.firstKey ?? '' });
}

/**
 * Replaces `animals.csv`, which readers have in their working directory, with its path in the folder, and npx, which takes longer
 * than the commands that it starts, with the program (test/process/npm.test.ts uses npx).
 */
function inFolder(commands: string, folder: string): string {
  const program = commandLine.map(quoteForShell).join(' ');
  return commands.replaceAll('animals.csv', `${folder}animals.csv`).replaceAll('npx animal-store', program);
}
