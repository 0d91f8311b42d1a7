import { settings } from '../src/config.ts';

export interface GeneratedDoc {
  readonly path: string;
  readonly text: string;
}

/** The documents that follow from the code, as they should read now. */
export async function generatedDocs(): Promise<GeneratedDoc[]> {
  return [await withSettings('docs/operating.md')];
}

/** The file with its settings table as the configuration has it. */
async function withSettings(path: string): Promise<GeneratedDoc> {
  const rows = Object.entries(settings).map(
    ([name, { default: value, about }]) => `| \`${name}\` | ${value === '' ? '' : `\`${value}\``} | ${about} |`,
  );
  const table = ['| Setting | Default | Meaning |', '|---|---|---|', ...rows].join('\n');
  const text = await Bun.file(path).text();
  const between = /(<!-- settings:.*-->\n)[\s\S]*(<!-- \/settings -->)/;
  return { path, text: text.replace(between, (_, start, end) => `${start}${table}\n${end}`) };
}
