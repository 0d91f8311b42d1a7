/** Serves the client guides, which are Markdown files in the repository, as pages under `/docs`. */
import icon from '../../../assets/guides/icon.svg' with { type: 'text' };
import search from '../../../assets/guides/search.mjs' with { type: 'text' };
import script from '../../../assets/guides/site.mjs' with { type: 'text' };
import style from '../../../assets/guides/style.css' with { type: 'text' };
import typescriptClient from '../../../client/README.md' with { type: 'text' };
import errorCodes from '../../../docs/errors.md' with { type: 'text' };
import animals from '../../../docs/guides/animals.md' with { type: 'text' };
import apiKeys from '../../../docs/guides/api-keys.md' with { type: 'text' };
import conditionalRequests from '../../../docs/guides/conditional-requests.md' with { type: 'text' };
import errorsAndRetries from '../../../docs/guides/errors-and-retries.md' with { type: 'text' };
import events from '../../../docs/guides/events.md' with { type: 'text' };
import generatedClients from '../../../docs/guides/generated-clients.md' with { type: 'text' };
import orders from '../../../docs/guides/orders.md' with { type: 'text' };
import pagination from '../../../docs/guides/pagination.md' with { type: 'text' };
import quickstart from '../../../docs/guides/quickstart.md' with { type: 'text' };
import overview from '../../../docs/guides/README.md' with { type: 'text' };
import rateLimits from '../../../docs/guides/rate-limits.md' with { type: 'text' };
import requestsAndResponses from '../../../docs/guides/requests-and-responses.md' with { type: 'text' };
import sandbox from '../../../docs/guides/sandbox.md' with { type: 'text' };
import versioning from '../../../docs/guides/versioning.md' with { type: 'text' };
import webhooks from '../../../docs/guides/webhooks.md' with { type: 'text' };
import * as mirror from '../../../examples/mirror.ts' with { type: 'text' };
import * as bunReceiver from '../../../examples/webhooks/bun.ts' with { type: 'text' };
import nodeReceiver from '../../../examples/webhooks/node.mjs' with { type: 'text' };
import pythonReceiver from '../../../examples/webhooks/receiver.py' with { type: 'text' };
import { clientErrors, errors } from '../../contract/errors.ts';
import { acceptsGzip } from '../pipeline/request-head.ts';
import type { HeaderFields } from '../pipeline/response-headers.ts';
import {
  errorEntries,
  linkTextsByTarget,
  referenceEntries,
  type SearchEntry,
  sectionEntries,
} from './guide-search.ts';

/** The guides by path under `/docs`, in reading order. */
const guides: ReadonlyMap<string, string> = new Map([
  ['guides', overview],
  ['guides/quickstart', quickstart],
  ['guides/typescript-client', typescriptClient],
  ['guides/api-keys', apiKeys],
  ['guides/animals', animals],
  ['guides/orders', orders],
  ['guides/webhooks', webhooks],
  ['guides/events', events],
  ['guides/requests-and-responses', requestsAndResponses],
  ['guides/pagination', pagination],
  ['guides/rate-limits', rateLimits],
  ['guides/errors-and-retries', errorsAndRetries],
  ['guides/conditional-requests', conditionalRequests],
  ['guides/generated-clients', generatedClients],
  ['guides/versioning', versioning],
  ['guides/sandbox', sandbox],
  ['errors', errorCodes],
]);

/** The text of a TypeScript file. The compiler reads the import as a module, although its attribute makes it text. */
const importedText = (imported: unknown) => (imported as { readonly default: string }).default;

/** The example programs that the guides mention, by path under `/docs`. */
const examples: ReadonlyMap<string, string> = new Map([
  ['examples/mirror.ts', importedText(mirror)],
  ['examples/webhooks/bun.ts', importedText(bunReceiver)],
  ['examples/webhooks/node.mjs', nodeReceiver],
  ['examples/webhooks/receiver.py', pythonReceiver],
]);

/** The service's icon as inline HTML, without a title because the name is shown next to it. */
export const iconHtml = icon
  .trim()
  .replace(/ xmlns="[^"]*"/, ' aria-hidden="true"')
  .replace(/<title>.*?<\/title>/, '');

export function errorPath(code: string): string {
  return `/docs/errors/${code}`;
}

const html = 'text/html; charset=utf-8';

interface StaticPage {
  readonly contentType: string;
  readonly text: () => string;
  /** Whether the page is compressed for browsers that accept gzip. */
  readonly isLarge?: boolean;
}

/** Placeholder address in the Markdown files, replaced when pages are rendered. */
const exampleAddress = 'http://127.0.0.1:3000';

function guidePages(address: () => string, searchIndex: () => string): ReadonlyMap<string, StaticPage> {
  const pages = new Map<string, StaticPage>([
    ['/docs/style.css', { contentType: 'text/css; charset=utf-8', text: () => style }],
    ['/docs/site.js', { contentType: 'text/javascript; charset=utf-8', text: () => script }],
    ['/docs/search.js', { contentType: 'text/javascript; charset=utf-8', text: () => search }],
    ['/docs/search.json', { contentType: 'application/json', text: searchIndex, isLarge: true }],
    ['/docs/icon.svg', { contentType: 'image/svg+xml', text: () => icon }],
  ]);
  const add = (path: string, markdown: string) =>
    pages.set(`/docs/${path}`, {
      contentType: html,
      text: () => guidePage(path, replaceAddress(markdown, address()), searchIndex()),
    });
  for (const [path, markdown] of guides) add(path, markdown);
  for (const [path, text] of examples)
    pages.set(`/docs/${path}`, { contentType: 'text/plain; charset=utf-8', text: () => text });
  for (const code of Object.keys(clientErrors)) add(`errors/${code}`, errorMarkdown(code));
  return pages;
}

/** The Markdown with the address of the service. A page that uses the variables of the quickstart also gets their values. */
function replaceAddress(markdown: string, address: string): string {
  const text = markdown.replaceAll(exampleAddress, () => address);
  if (!text.includes('"$API') || text.includes('export API=')) return text;
  const note = `In the samples, \`$API\` is \`${address}/v1\` and \`$KEY\` is your API key.`;
  return text.replace('\n## ', () => `\n${note}\n\n## `);
}

/** The order of the entries is also the order of equally good results. */
function buildSearchIndex(openapi: string, address: string): string {
  const rendered = [...guides].map(
    ([path, markdown]) => [path, renderMarkdown(replaceAddress(markdown, address), '')] as const,
  );
  const linkTexts = linkTextsByTarget(rendered.map(([, page]) => page));
  const sections = rendered.flatMap(([path, page]) => {
    const entries = sectionEntries(path, page, { linkTexts });
    // Each error code has a separate page.
    return path === 'errors' ? entries.slice(0, 1) : entries;
  });
  const codes = errorEntries((code) => renderMarkdown(errorMarkdown(code), ''));
  const depth = ([, , , target]: SearchEntry) => Number(target.includes('#'));
  const pagesFirst = sections.toSorted((one, other) => depth(one) - depth(other));
  return JSON.stringify([...pagesFirst, ...codes, ...referenceEntries(openapi)]);
}

/** The page that browsers get for unknown paths. `root` is the public URL of the service. */
function notFoundPage(root: string, index: string): string {
  const text = 'Nothing is served at this address. Start with the [guides](README.md).';
  const body = `# Page not found\n\n${text}`;
  return renderLayout({ title: 'Page not found', toDocs: `${root}/docs/`, body, index });
}

/** The section about one error code, as a page. */
function errorMarkdown(code: string): string {
  const start = errorCodes.indexOf(`\n## ${code}\n`) + 1;
  const end = errorCodes.indexOf('\n## ', start);
  return errorCodes.slice(start, end === -1 ? undefined : end).replace(/^##/, '#');
}

function guidePage(path: string, body: string, index: string): string {
  // Links are relative, so that they work behind a proxy that serves the pages under another path.
  return renderLayout({ path, title: findTitle(body), toDocs: path.includes('/') ? '../' : '', body, index });
}

function findTitle(markdown: string): string {
  return /^# (.*)$/m.exec(markdown)?.[1] ?? '';
}

interface Page {
  /** Path under `/docs`; undefined for a page that is not in the navigation. */
  readonly path?: string;
  readonly title: string;
  readonly toDocs: string;
  readonly body: string;
  /** The search index. */
  readonly index: string;
}

function renderLayout({ path, title, toDocs, body, index }: Page): string {
  const guideList = renderGuideList(path, toDocs);
  const content = renderMarkdown(body, toDocs);
  const contents = renderContents(content);
  const beside =
    contents && `<nav class="contents" aria-label="On this page"><p>On this page</p>${contents}</nav>`;
  const above = contents && `<details class="contents"><summary>On this page</summary>${contents}</details>`;
  // The reference page is at `/docs` itself.
  const reference = path === undefined ? toDocs.slice(0, -1) : `${toDocs}../docs`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} · Animal Store API</title>
<link rel="icon" href="${toDocs}${versionedPath('icon.svg', icon)}" type="image/svg+xml">
<link rel="stylesheet" href="${toDocs}${versionedPath('style.css', style)}">
<script src="${toDocs}${versionedPath('site.js', script)}" data-search="${versionedPath('search.js', search)}" data-index="${versionedPath('search.json', index)}"></script>
</head>
<body>
<a class="skip" href="#content">Skip to content</a>
<header>
<a class="brand" href="${toDocs}guides">${iconHtml}Animal Store API</a>
<div class="search" role="search"><input type="search" placeholder="Search ( / )" aria-label="Search" autocomplete="off"><div class="results" hidden><p role="status"></p><ul></ul></div></div>
<nav class="sections" aria-label="Sections"><a href="${toDocs}guides" aria-current="page">Guides</a><a href="${reference}">Reference</a></nav>
<select class="theme" aria-label="Theme"><option value="system">System</option><option value="light">Light</option><option value="dark">Dark</option></select>
</header>
<nav class="menu" aria-label="Guides"><details><summary>All guides</summary>${guideList}</details></nav>
<div class="columns">
<nav class="side" aria-label="Guides">${guideList}</nav>
<main id="content">
${content.replace('</h1>', (end) => end + above)}</main>
${beside}
</div>
</body>
</html>
`;
}

function renderGuideList(path: string | undefined, toDocs: string): string {
  const current = path?.startsWith('errors/') ? 'errors' : path;
  const items = [...guides].map(([to, markdown]) => {
    const mark = to === current ? ' aria-current="page"' : '';
    return `<li><a href="${toDocs}${to}"${mark}>${to === 'guides' ? 'Overview' : findTitle(markdown)}</a></li>`;
  });
  return `<ul class="guides">\n${items.join('\n')}\n</ul>`;
}

/** Returns a list of the sections, or an empty string if there are fewer than three. */
function renderContents(content: string): string {
  const links = [...content.matchAll(/<h2 [^>]*>(.*?)<\/h2>/g)].map(([, link]) => `<li>${link}</li>`);
  return links.length < 3 ? '' : `<ul>${links.join('')}</ul>`;
}

function renderMarkdown(markdown: string, toDocs: string): string {
  return (
    Bun.markdown
      .html(markdown, { headings: { ids: true } })
      .replace(/<!--[\s\S]*?-->\n?/g, '')
      // The renderer drops underscores from ids. GitHub keeps them.
      .replace(
        /<h(\d) id="\w+">(\w+)</g,
        (_, level, name: string) => `<h${level} id="${name.toLowerCase()}">${name}<`,
      )
      .replace(/<h([23]) id="([^"]*)">(.*?)<\/h/g, '<h$1 id="$2"><a href="#$2">$3</a></h')
      // The layout lists the sections of each page.
      .replace(/<ul>\n(?:<li><a href="#[^"]*">[^<]*<\/a><\/li>\n)+<\/ul>\n/, '')
      // Long paths wrap in narrow columns.
      .replace(/<code>(?:[A-Z]+ )?\/v1\/[^<]*/g, (code) => code.replaceAll('/', '/<wbr>'))
      .replaceAll('<th></th>', '<td></td>')
      .replaceAll('<pre>', '<div class="code"><pre tabindex="0">')
      .replaceAll('</pre>', '</pre></div>')
      .replaceAll('<table>', '<div class="scroll" tabindex="0"><table>')
      .replaceAll('</table>', '</table></div>')
      .replace(/href="(?:\.\.\/)+(examples\/[^"]*\.\w+)"/g, `href="${toDocs}$1"`)
      .replace(
        /href="([^"]*\.md(?:#[^"]*)?)"/g,
        (_, target: string) => `href="${toDocs}${resolveLink(target)}"`,
      )
  );
}

/**
 * The path under `/docs` of the page that a link between Markdown files refers to. Each error code has a separate page.
 */
function resolveLink(target: string): string {
  const [, file = '', fragment = ''] = /([\w-]+)\.md(?:#(.*))?$/.exec(target) ?? [];
  if (file === 'errors') return fragment === '' ? 'errors' : `errors/${fragment}`;
  const isClient = target.includes('client/README.md');
  const page = isClient ? 'guides/typescript-client' : file === 'README' ? 'guides' : `guides/${file}`;
  return fragment === '' ? page : `${page}#${fragment}`;
}

/** Pages load only style sheets, scripts, images and the search index, and only from this service. */
const pageHeaders: HeaderFields = {
  'Content-Security-Policy':
    "default-src 'none'; style-src 'self'; img-src 'self' data:; script-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'Cache-Control': 'no-cache',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
};

/** The URL of a file, with a version that changes with its content. */
function versionedPath(name: string, text: string): string {
  return `${name}?v=${Bun.hash(text).toString(36)}`;
}

interface GuidesOptions {
  /** The public URL of the service, or an empty string. */
  readonly root: string;
  /** Returns the address of the service. Called once it is listening. */
  readonly address: () => string;
  /** Returns the OpenAPI document as text. Called once the service is listening. */
  readonly openapi: () => string;
}

export interface Guides {
  readonly routes: [path: string, page: (request: Request) => Response][];
  /** Returns the response that browsers get for unknown paths. */
  readonly notFound: () => Response;
}

/** The guides. Everything is rendered on its first request and cached. */
export function createGuides({ root, address, openapi }: GuidesOptions): Guides {
  const searchIndex = memoize(() => buildSearchIndex(openapi(), address()));
  const notFound = memoize(() => new Blob([notFoundPage(root, searchIndex())]));
  const notFoundHeaders = { ...pageHeaders, 'Content-Type': html };
  return {
    routes: [...guidePages(address, searchIndex)].map(([path, page]) => [path, serveCached(path, page)]),
    notFound: () =>
      new Response(notFound(), { status: errors.route_not_found.status, headers: notFoundHeaders }),
  };
}

/** Pages are cached as Blobs, which the runtime sends without copying. Browsers cache files whose URL has a version. */
function serveCached(
  path: string,
  { contentType, text, isLarge = false }: StaticPage,
): (request: Request) => Response {
  const headers = {
    ...pageHeaders,
    'Content-Type': contentType,
    ...(isLarge && { Vary: 'Accept-Encoding' }),
  };
  const permanent = { ...headers, 'Cache-Control': 'public, max-age=31536000, immutable' };
  const page = memoize(() => {
    const content = text();
    return { body: new Blob([content]), permanentPath: versionedPath(path, content) };
  });
  const compressed = memoize(() => new Blob([Bun.gzipSync(text())]));
  return (request) => {
    const { body, permanentPath } = page();
    const fields = request.url.endsWith(permanentPath) ? permanent : headers;
    return isLarge && acceptsGzip(request)
      ? new Response(compressed(), { headers: { ...fields, 'Content-Encoding': 'gzip' } })
      : new Response(body, { headers: fields });
  };
}

function memoize<T>(compute: () => T): () => T {
  let result: { readonly value: T } | undefined;
  return () => {
    result ??= { value: compute() };
    return result.value;
  };
}
