import { stripVTControlCharacters } from 'node:util';
import type { Command } from 'commander';
import { programOf } from '../src/cli/program.ts';
import { settings } from '../src/config/settings.ts';
import { faultNames } from '../src/sandbox/fault.ts';

export interface GeneratedDoc {
  readonly path: string;
  readonly text: string;
}

/** The generated documents, with their current contents. */
export async function generatedDocs(): Promise<GeneratedDoc[]> {
  return [
    await withTable('docs/operating.md', 'settings', settingsTable()),
    await withTable('docs/guides/sandbox.md', 'faults', faultsTable()),
    { path: 'docs/commands.md', text: await commandsText() },
  ];
}

function settingsTable(): string {
  const rows = Object.entries(settings).map(
    ([name, { default: value, about }]) =>
      `| \`${name}\` | ${value === '' ? '' : `\`${value}\``} | ${about} |`,
  );
  return ['| Setting | Default | Meaning |', '|---|---|---|', ...rows].join('\n');
}

function faultsTable(): string {
  const rows = Object.values(faultNames).map(({ example, about }) => `| \`${example}\` | ${about} |`);
  return ['| Fault | Meaning |', '|---|---|', ...rows].join('\n');
}

/** The file with a generated table between two comments with this name. */
async function withTable(path: string, name: string, table: string): Promise<GeneratedDoc> {
  const text = await Bun.file(path).text();
  const between = new RegExp(`(<!-- ${name}:.*-->\\n)[\\s\\S]*(<!-- /${name} -->)`);
  return { path, text: text.replace(between, (_, start, end) => `${start}${table}\n${end}`) };
}

/** The help of every command, except groups. */
async function commandsText(): Promise<string> {
  const sections = leavesOf(await programOf({})).map(
    ({ path, command }) => `## animal-store ${path}\n\n\`\`\`\n${helpOf(command)}\n\`\`\`\n`,
  );
  const head = "# Commands\n\nWritten by `npm run docs` from the commands' own `--help`.\n";
  return [head, ...sections].join('\n');
}

function leavesOf(command: Command, path: string[] = []): { path: string; command: Command }[] {
  const below = command.commands.flatMap((child) => leavesOf(child, [...path, child.name()]));
  const isGroup = below.length > 0 && command.registeredArguments.length === 0;
  return isGroup ? below : [{ path: path.join(' '), command }, ...below];
}

function helpOf(command: Command): string {
  let text = '';
  const write = (part: string) => {
    text += part;
  };
  command.configureOutput({ writeOut: write, getOutHelpWidth: () => 100 }).outputHelp();
  return stripVTControlCharacters(text).trimEnd();
}
