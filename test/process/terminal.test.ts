import { expect, test } from 'bun:test';
import { commandLine, newWorkplace, type Workplace } from '../support/cli.ts';
import { operatorOf, settingsIn } from '../support/process.ts';

/** Output of a command on a terminal. */
async function onTerminal(place: Workplace, args: readonly string[]): Promise<string> {
  let shown = '';
  const decoder = new TextDecoder();
  const child = Bun.spawn([...commandLine, ...args], {
    cwd: place.folder,
    env: { PATH: process.env.PATH ?? '', TERM: 'xterm-256color', ...settingsIn(place.folder) },
    terminal: {
      data: (_terminal, data) => {
        shown += decoder.decode(data, { stream: true });
      },
    },
  });
  await child.exited;
  return shown;
}

const eraseLine = '\r\x1b[2K';

test('progress is shown on a terminal from the start, and cleared when the command ends', async () => {
  await using place = await newWorkplace();
  await Bun.write(place.path('pets.csv'), 'name,categoryId,status\nOzzy,1,sold\nPepper,2,sold\n');
  for (const [noun, args, expected] of [
    ['rows', ['import', 'pets.csv'], 'imported 2, rejected 0 (of lines 2–3)'],
    ['animals', ['export', 'out.csv'], 'Exported 2 animals'],
  ] as const) {
    const shown = await onTerminal(place, args);
    expect(shown).toStartWith(`${eraseLine}${'░'.repeat(24)} 0 %  0 ${noun}`);
    const last = shown.slice(shown.lastIndexOf(eraseLine) + eraseLine.length);
    expect(last).not.toContain('░');
    expect(last).toContain(expected);
  }
});

/** The C1 control CSI, and the right-to-left override. */
const hostile = 'Oz\u009b31m\u202ezy';
const shownHostile = 'Oz\\u009b31m\\u202ezy';

test('control characters in stored text are escaped on a terminal, and unchanged in a file or pipe', async () => {
  await using place = await newWorkplace();
  await place.write('pets.ndjson', `{"name":${JSON.stringify(hostile)},"categoryId":1}\n`);
  await place.json('import', 'pets.ndjson');
  const args = ['export', '-', '--format', 'csv'];
  expect(await onTerminal(place, args)).toContain(shownHostile);
  expect((await place.run(args)).stdout).toContain(hostile);
  await place.write('header.csv', `name,categoryId,${hostile}\n`);
  expect((await place.run(['import', 'header.csv'])).stderr).toContain(shownHostile);
  await using operator = await operatorOf(place.folder);
  const { id } = await operator.accounts.create(hostile, 'free');
  await operator.keys.create(id, hostile);
  expect(await onTerminal(place, ['keys', 'list'])).toContain(shownHostile);
  expect(await place.json<object[]>('keys', 'list')).toContainEqual(
    expect.objectContaining({ name: hostile }),
  );
});

test('control characters in arguments are escaped when they are printed', async () => {
  await using place = await newWorkplace();
  for (const args of [
    [hostile],
    ['help', hostile],
    ['accounts', 'show', hostile],
    ['accounts', 'list', '--state', hostile],
    ['backup', hostile],
    ['backup', 'verify', hostile],
    ['export', `${hostile}.csv`],
    ['import', `${hostile}.csv`],
    ['audit', 'export', hostile],
  ]) {
    const { stdout, stderr } = await place.run(args);
    expect([args, stdout + stderr]).toEqual([args, expect.stringContaining(shownHostile)]);
    expect(stdout + stderr).not.toMatch(/[\u009b\u202e]/);
  }
});

test('columns are aligned even if characters differ in width', async () => {
  await using place = await newWorkplace();
  await using operator = await operatorOf(place.folder);
  for (const name of ['猫', 'Zoë 👩‍🔬', 'Zoe']) await operator.accounts.create(name, 'pro');
  const { stdout } = await place.run(['accounts', 'list']);
  const lines = stdout.trimEnd().split('\n');
  const columns = lines.map((line) => Bun.stringWidth(line.slice(0, line.search(/PLAN|free|pro/))));
  expect(new Set(columns).size).toBe(1);
});

test('colors are used only on terminals', async () => {
  await using place = await newWorkplace();
  expect(await onTerminal(place, ['keys', 'create', '--plan', 'free'])).toContain('\x1b[1mask_');
  expect(await onTerminal(place, ['keys', '--help'])).toContain('\x1b[1mUsage:\x1b[22m');
  expect(await place.output('keys', 'create', '--plan', 'free')).not.toContain('\x1b');
});
