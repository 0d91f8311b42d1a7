/** Checks both OpenAPI documents with the rules of Redocly and Spectral, which take seconds per document. */
import { describe, expect, test } from 'bun:test';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import { type RulesetDefinition, Spectral } from '@stoplight/spectral-core';
import { oas } from '@stoplight/spectral-rulesets';
import { servedAdmin, servedClient } from '../contract/served.ts';

describe.each([
  ['openapi.json', servedClient],
  ['admin-openapi.json', servedAdmin],
])('%s', (_, source) => {
  test("passes Redocly's recommended rules", async () => {
    const config = await createConfig({ extends: ['recommended'] });
    const problems = await lintFromString({ source, absoluteRef: 'openapi.json', config });
    expect(
      problems.map(({ ruleId, message, location }) => ({ ruleId, message, at: location[0]?.pointer })),
    ).toEqual([]);
  });

  test("satisfies all of Spectral's OpenAPI rules", async () => {
    const spectral = new Spectral();
    spectral.setRuleset({ extends: [oas] } as RulesetDefinition);
    const problems = await spectral.run(source);
    expect(problems.map(({ code, message, path }) => ({ code, message, at: path.join('/') }))).toEqual([]);
  });
});
