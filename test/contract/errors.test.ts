import { describe, expect, test } from 'bun:test';
import { errorExample } from '../../scripts/openapi/error-examples.ts';
import { adminErrors, clientErrors, type ErrorCode, errors } from '../../src/contract/errors.ts';

describe.each([
  ['docs/errors.md', clientErrors],
  ['docs/admin-errors.md', adminErrors],
])('%s', async (path, table) => {
  const page = await Bun.file(new URL(`../../${path}`, import.meta.url)).text();
  /** The page's sections by heading. */
  const sections = new Map(
    page
      .split(/^## /m)
      .slice(1)
      .map((section): [string, string] => [/^.*/.exec(section)?.[0] ?? '', section]),
  );

  test('documents exactly the error codes that exist', () => {
    const lacking = Object.keys(table).filter((code) => !sections.has(code));
    if (lacking.length > 0) throw new Error(`Add a section to ${path}: ${lacking.join(', ')}.`);
    expect([...sections.keys()].sort()).toEqual(Object.keys(table).sort());
  });

  test.each(Object.keys(table) as ErrorCode[])(
    'documents %s with its status, remedy and, for clients, an example',
    (code) => {
      const section = sections.get(code) ?? '';
      expect(/^Status: (\d{3})$/m.exec(section)?.[1]).toBe(String(errors[code].status));
      for (const part of ['Meaning', 'Cause', 'What to do']) expect(section).toContain(`- **${part}:** `);
      const [, example] = /```json\n([\s\S]*?)```/.exec(section) ?? [];
      if (code in clientErrors) expect(JSON.parse(example ?? '')).toEqual(errorExample(code));
    },
  );
});
