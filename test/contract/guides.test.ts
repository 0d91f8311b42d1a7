/** The guides, as served by the service. */
import { describe, expect, test } from 'bun:test';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { clientErrors } from '../../src/contract/errors.ts';
import { startAppForFile } from '../support/app.ts';
import { clientOf } from '../support/client.ts';
import { root } from '../support/process.ts';

const app = await startAppForFile({
  CORS_ORIGINS: 'https://shop.example',
  PUBLIC_REQUESTS_PER_MINUTE: '100000',
});

const page = (path: string) => fetch(app.url + path, { headers: { Accept: 'text/html' } });

/** Every page linked in the overview, with its text. */
async function allPages(): Promise<Map<string, string>> {
  const pages = new Map<string, string>();
  const open = ['/docs/guides'];
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    const response = await page(path);
    expect([path, response.status]).toEqual([path, 200]);
    const text = await response.text();
    pages.set(path, text);
    for (const [, href = ''] of text.matchAll(/href="([^"]*)"/g)) {
      const { origin, pathname } = new URL(href, app.url + path);
      const isGuide = origin === app.url && /^\/docs\/(?:guides|errors)/.test(pathname);
      if (isGuide && !pages.has(pathname) && !open.includes(pathname)) open.push(pathname);
    }
  }
  return pages;
}

const pages = await allPages();

describe('the guides', () => {
  test('include every guide, and a page for every error code', () => {
    const names = [...pages.keys()];
    expect(names).toContain('/docs/guides/typescript-client');
    for (const name of readdirSync(join(root, 'docs/guides')).filter((file) => file.endsWith('.md'))) {
      if (name === 'README.md') continue;
      expect(names).toContain(`/docs/guides/${name.replace('.md', '')}`);
    }
    for (const code of Object.keys(clientErrors)) expect(names).toContain(`/docs/errors/${code}`);
  });

  test('have no broken links or fragments, and no links to repository files', async () => {
    for (const [path, text] of pages) {
      for (const [, href = ''] of text.matchAll(/(?:href|src)="([^"]*)"/g)) {
        const target = new URL(href, app.url + path);
        if (target.origin !== app.url) continue;
        expect([path, href, target.pathname.endsWith('.md')]).toEqual([path, href, false]);
        const response = await page(target.pathname);
        expect([path, href, response.status]).toEqual([path, href, 200]);
        const fragment = target.hash.slice(1);
        if (fragment !== '') expect(await response.text()).toContain(`id="${fragment}"`);
      }
    }
  });

  test('link to the example programs that they mention, which are served as text', async () => {
    const linked = [...pages].flatMap(([path, text]) =>
      [...text.matchAll(/href="([^"]*\/examples\/[^"]*)"/g)].map(
        ([, href = '']) => new URL(href, app.url + path).pathname,
      ),
    );
    const files = ['mirror.ts', 'webhooks/bun.ts', 'webhooks/node.mjs', 'webhooks/receiver.py'];
    expect([...new Set(linked)].sort()).toEqual(files.map((file) => `/docs/examples/${file}`));
    for (const file of files) {
      const response = await page(`/docs/examples/${file}`);
      expect(response.headers.get('content-type')).toBe('text/plain; charset=utf-8');
      expect(await response.text()).toBe(await Bun.file(join(root, 'examples', file)).text());
    }
  });

  test('load only files of the service, and contain no inline scripts or styles', async () => {
    const { headers } = await page('/docs/guides/quickstart');
    expect(headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(headers.get('content-security-policy')).toStartWith(
      "default-src 'none'; style-src 'self'; img-src 'self' data:; script-src 'self'; connect-src 'self'; base-uri",
    );
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    for (const text of pages.values()) {
      expect(text.match(/<script[^>]*>[^<]*/g)).toEqual([
        expect.stringMatching(/ src="[^":]*site\.js\?v=\w+".*>$/),
      ]);
      expect(text).not.toMatch(/<[^>]* (?:style|on\w+)="|<style|src="https?:/);
    }
  });

  test('load assets from versioned URLs, which browsers can cache permanently', async () => {
    const [, script = '', search = '', index = ''] =
      /src="\.\.\/(site[^"]*)" data-search="([^"]*)" data-index="([^"]*)"/.exec(
        pages.get('/docs/guides/orders') ?? '',
      ) ?? [];
    const cachingOf = async (file: string) => (await page(`/docs/${file}`)).headers.get('cache-control');
    for (const file of [script, search, index]) {
      expect(await cachingOf(file)).toBe('public, max-age=31536000, immutable');
      expect(await cachingOf(`${file}0`)).toBe('no-cache');
    }
  });

  test('have a search index of every page, section, error code and operation, whose links are not broken', async () => {
    const entries = (await (await page('/docs/search.json')).json()) as string[][];
    const targets = new Set(entries.map(([, , , target]) => target));
    for (const [path, text] of pages) {
      expect(targets).toContain(path.replace('/docs/', ''));
      if (path.startsWith('/docs/errors')) continue;
      for (const [, id] of text.matchAll(/<h[23] id="([^"]*)"/g))
        expect(targets).toContain(`${path.replace('/docs/', '')}#${id}`);
    }
    const { paths } = (await (await page('/openapi.json')).json()) as { paths: Record<string, object> };
    const operations = Object.values(paths).flatMap((path) =>
      Object.values(path).flatMap(({ operationId }: { operationId?: string }) => operationId ?? []),
    );
    expect(operations.length).toBeGreaterThan(20);
    const text = entries.map(([, , text]) => text).join('\n');
    for (const operation of operations) expect(text).toContain(`Operation ID: ${operation}`);
    for (const [title, place, , target = ''] of entries) {
      expect([title, place]).not.toContain('');
      const [path = '', id] = target.split('#');
      if (path === '../docs') continue;
      expect(pages.get(`/docs/${path}`)).toContain(id === undefined ? '<h1' : ` id="${id}"`);
    }
  });

  test('have a search index of their whole text, with at most 100 kB compressed', async () => {
    const response = await page('/docs/search.json');
    expect(response.headers.get('content-encoding')).toBe('gzip');
    const index = await response.text();
    expect(Bun.gzipSync(index).length).toBeLessThan(100_000);
    const plain = await fetch(`${app.url}/docs/search.json`, { headers: { 'Accept-Encoding': 'identity' } });
    expect([plain.headers.get('content-encoding'), await plain.text()]).toEqual([null, index]);
    const wordsOf = (text: string) => text.match(/[\p{L}\d]+/gu) ?? [];
    const entries = JSON.parse(index) as string[][];
    for (const [path, html] of pages) {
      if (path === '/docs/errors') continue;
      const isOnPage = (target = '') => `/docs/${target.split('#')[0]}` === path;
      const indexed = entries.filter(([, , , target]) => isOnPage(target)).flat();
      const [main = ''] = /<main[\s\S]*<\/main>/.exec(html) ?? [];
      const shown = main.replace(/<details[\s\S]*?<\/details>/, '').replace(/<(?!wbr)[^>]*>|&\w+;/g, ' ');
      const missing = new Set(wordsOf(shown.replaceAll('<wbr>', ''))).difference(
        new Set(wordsOf(indexed.join(' '))),
      );
      expect([path, ...missing]).toEqual([path]);
    }
  });

  test('contain the values of the variables that their samples use', () => {
    expect(pages.get('/docs/guides/orders')).toContain(
      `<code>$API</code> is <code>${app.url}/v1</code> and <code>$KEY</code> is your API key.`,
    );
    expect(pages.get('/docs/guides/quickstart')).not.toContain('<code>$API</code>');
  });

  test('have a page for each error with its code, status and remedy', () => {
    for (const [code, { status }] of Object.entries(clientErrors)) {
      const text = pages.get(`/docs/errors/${code}`) ?? '';
      expect(text).toContain(`>${code}</h1>`);
      expect(text).toContain(`Status: ${status}`);
      expect(text).toContain('What to do:');
    }
  });
});

test('every error response links to the page for its error, after any links about a deprecation', async () => {
  const client = clientOf(app.url, app.key);
  for (const [target, code] of [
    ['/pets?limit=0', 'invalid_parameter'],
    ['/nowhere', 'route_not_found'],
    ['/pets/999', 'pet_not_found'],
  ] as const) {
    const { headers } = await client.get(target);
    const links = headers.get('link') ?? '';
    expect(links).toEndWith(`</docs/errors/${code}>; rel="help"; type="text/html"`);
    expect(links.includes('rel="successor-version"')).toBe(target === '/pets/999');
    expect(pages.has(/<([^>]*)>; rel="help"/.exec(links)?.[1] ?? '')).toBe(true);
  }
});

test('an unknown path returns an HTML page to a browser, and the Error body to a program', async () => {
  const browser = await fetch(`${app.url}/nowhere`, {
    headers: { Accept: 'text/html,application/xhtml+xml,*/*;q=0.8' },
  });
  expect([browser.status, browser.headers.get('content-type')]).toEqual([404, 'text/html; charset=utf-8']);
  expect(await browser.text()).toContain('Page not found');
  for (const accept of ['*/*', 'application/json']) {
    const program = await fetch(`${app.url}/nowhere`, { headers: { Accept: accept } });
    expect(((await program.json()) as { code: string }).code).toBe('route_not_found');
  }
});

test('pages from configured origins can read the OpenAPI document and send trace headers', async () => {
  const from = (origin: string) => fetch(`${app.url}/openapi.json`, { headers: { Origin: origin } });
  expect((await from('https://shop.example')).headers.get('access-control-allow-origin')).toBe(
    'https://shop.example',
  );
  expect((await from('https://other.example')).headers.has('access-control-allow-origin')).toBe(false);
  const preflight = await fetch(`${app.url}/v1/pets`, {
    method: 'OPTIONS',
    headers: { Origin: 'https://shop.example', 'Access-Control-Request-Method': 'GET' },
  });
  expect(preflight.headers.get('access-control-allow-headers')).toContain('Traceparent');
});

test('without a public URL, the OpenAPI document contains the address of the service, whatever the Host header', async () => {
  const response = await fetch(`${app.url}/openapi.json`, { headers: { Host: 'evil.example' } });
  expect(((await response.json()) as { servers: unknown }).servers).toEqual([
    { url: `${app.url}/v1`, description: 'Production' },
  ]);
});
