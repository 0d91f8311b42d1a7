/** The index of the guides' search: every section, error code and operation. The browser searches it. */
import { clientErrors } from '../../contract/errors.ts';

/** Title, the place that contains it, a sentence that is also searched, and an address relative to `/docs/`. */
export type SearchEntry = readonly [title: string, place: string, sentence: string, target: string];

const maxSentenceLength = 160;

/** Returns one entry for each `h1` to `h3` of a page. */
export function sectionEntries(path: string, html: string): SearchEntry[] {
  const sections = [...html.matchAll(/<h([1-3]) id="([^"]*)">(.*?)<\/h\1>([\s\S]*?)(?=<h[1-3] |$)/g)];
  const page = plainText(sections[0]?.[3] ?? '');
  return sections.map(([, level, id = '', heading = '', body = '']) => {
    const title = plainText(heading);
    return level === '1'
      ? [title, 'Guide', firstSentence(body), path]
      : [title, page, firstSentence(body), `${path}#${id}`];
  });
}

/** Returns one entry for each error code. `sectionOf` returns the HTML of the section about a code. */
export function errorEntries(sectionOf: (code: string) => string): SearchEntry[] {
  return Object.entries(clientErrors).map(([code, { status }]) => {
    const [, meaning = ''] = /Meaning:<\/strong>([\s\S]*?)<\/li>/.exec(sectionOf(code)) ?? [];
    return [code, `Error ${status}`, plainText(meaning), `errors/${code}`];
  });
}

interface OpenapiOperation {
  readonly operationId: string;
  readonly summary: string;
  readonly tags: readonly string[];
}

interface OpenapiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Partial<OpenapiOperation>>>>>;
}

/** Returns one entry for each operation. Its target is the anchor that the reference page uses. */
export function operationEntries(openapi: string): SearchEntry[] {
  const { paths } = JSON.parse(openapi) as OpenapiDocument;
  return Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).flatMap(([name, { operationId, summary, tags }]) => {
      if (operationId === undefined || summary === undefined) return [];
      const method = name.toUpperCase();
      const tag = tags?.[0]?.toLowerCase().replaceAll(' ', '-');
      return [[summary, `${method} /v1${path}`, operationId, `../docs#tag/${tag}/${method}${path}`] as const];
    }),
  );
}

function firstSentence(html: string): string {
  const [, first = ''] = /<(?:p|li)>([\s\S]*?)<\/(?:p|li)>/.exec(html) ?? [];
  const [, sentence = ''] = /^(.*?(?:[.?](?= )|$))/.exec(plainText(first).replace(/:$/, '')) ?? [];
  return sentence.length > maxSentenceLength ? `${sentence.slice(0, maxSentenceLength - 1)}…` : sentence;
}

const characters: Readonly<Record<string, string>> = { lt: '<', gt: '>', quot: '"', amp: '&' };

/** The text of an HTML fragment on one line. */
function plainText(html: string): string {
  return html
    .replaceAll('<sup>', '^')
    .replace(/<[^>]*>/g, '')
    .replace(/&(\w+);/g, (entity, name: string) => characters[name] ?? entity)
    .replace(/\s+/g, ' ')
    .trim();
}
