/** Metrics for Prometheus, and the dashboard, the alerts and the documentation that use them. */
import { describe, expect, test } from 'bun:test';
import { readFileSync, renameSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { allMetrics as all } from '../../scripts/all-metrics.ts';
import { formatMetrics } from '../../src/http/admin/metrics.ts';
import { addOperator, callAdmin } from '../support/admin.ts';
import { startTestApp, type TestApp } from '../support/app.ts';
import { newPet } from '../support/pets.ts';
import { metricsIn, parseMetrics, samplesIn } from '../support/prometheus.ts';

const file = (path: string) => readFileSync(join(import.meta.dir, '../..', path), 'utf8');

async function scraped(app: TestApp): Promise<string> {
  const { token } = await addOperator(app, 'viewer');
  const { status, headers, text } = await callAdmin(app, 'GET', 'root:/metrics', { token });
  expect(status).toBe(200);
  expect(headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
  return text;
}

async function useInEveryWay(app: TestApp): Promise<void> {
  for (let request = 0; request < 3; request++) await app.call('GET', '/pets');
  await app.call('POST', '/pets', { body: newPet() });
  await app.call('GET', '/pets/99');
  await app.call('GET', '/nowhere');
  await app.call('GET', '/pets', { key: null });
}

/** Metric names that can be used in queries. */
const names = new Set(
  all.flatMap(({ name, type }) => {
    if (type === 'summary') return [`${name}_sum`, `${name}_count`];
    return type === 'histogram' ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name];
  }),
);

describe('/metrics', () => {
  test('is parsed by an independent parser, which finds the type, help and samples of each metric', async () => {
    await using app = await startTestApp();
    await useInEveryWay(app);
    const text = await scraped(app);
    const parsed = parseMetrics(text);
    const heads = [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name, type]) => [name, type]);
    expect(parsed.map(({ name, type }) => [name, type])).toEqual(heads as [string, string][]);
    const known = new Set(all.map(({ name }) => name));
    for (const { name, help, metrics } of parsed) {
      expect(known).toContain(name);
      expect(help).toEndWith('.');
      expect(metrics.length).toBeGreaterThan(0);
    }
    // The text ends with a line feed, and each sample occurs exactly once.
    expect(text).toEndWith('\n');
    const samples = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
    expect(samplesIn(text).size).toBe(samples.length);
  });

  test('includes response counts and durations', async () => {
    await using app = await startTestApp();
    await useInEveryWay(app);
    const samples = samplesIn(await scraped(app));
    const requests = (labels: string) => samples.get(`animal_store_requests_total{${labels}}`);
    expect(requests('operation="listPets",code="ok"')).toBe(3);
    expect(requests('operation="listPets",code="missing_api_key"')).toBe(1);
    expect(requests('operation="createPet",code="ok"')).toBe(1);
    expect(requests('operation="getPet",code="pet_not_found"')).toBe(1);
    expect(requests('operation="none",code="route_not_found"')).toBe(1);
    // Metrics used by alerts are exported from startup on.
    expect(requests('operation="placeOrder",code="internal_error"')).toBe(0);
    const latency = 'animal_store_request_duration_seconds';
    const buckets = [...samples].filter(([name]) =>
      name.startsWith(`${latency}_bucket{operation="listPets"`),
    );
    const cumulative = buckets.map(([, count]) => count);
    expect(cumulative).toEqual([...cumulative].sort((one, other) => one - other));
    expect(buckets.at(-1)).toEqual([`${latency}_bucket{operation="listPets",le="+Inf"}`, 4]);
    expect(samples.get(`${latency}_count{operation="listPets"}`)).toBe(4);
    expect(samples.get(`${latency}_sum{operation="listPets"}`)).toBeGreaterThan(0);
    expect(samples.get('animal_store_page_cache_requests_total{result="hit"}')).toBe(1);
    expect(samples.get('animal_store_writes_total')).toBeGreaterThan(0);
    expect(samples.get('animal_store_store_bytes{part="data"}')).toBeGreaterThan(0);
    expect(samples.get('animal_store_trouble{part="dataFile"}')).toBe(0);
  });

  test('contains counters that never decrease, and no samples per key, path or address', async () => {
    await using app = await startTestApp({ TRUSTED_PROXIES: '127.0.0.1' });
    await useInEveryWay(app);
    const before = samplesIn(await scraped(app));
    for (let client = 0; client < 20; client++) {
      const { key } = await app.tenant('free');
      const headers = { 'X-Forwarded-For': `203.0.113.${client}` };
      await app.call('GET', `/pets/${client + 100}`, { key, headers });
      await app.call('GET', `/nowhere/${client}`, { key, headers });
    }
    const text = await scraped(app);
    const after = samplesIn(text);
    expect([...after.keys()]).toEqual([...before.keys()]);
    const rising = parseMetrics(text).flatMap(({ name, type }) => (type === 'gauge' ? [] : [name]));
    expect(rising.length).toBeGreaterThan(4);
    for (const [sample, value] of before) {
      if (rising.some((name) => sample.startsWith(name)))
        expect(after.get(sample)).toBeGreaterThanOrEqual(value);
    }
  });

  test('is available only to operators', async () => {
    await using app = await startTestApp();
    const { status, text } = await callAdmin(app, 'GET', 'root:/metrics');
    expect(status).toBe(401);
    expect(text).not.toContain('animal_store_');
  });

  test('escapes labels and help texts according to the format', () => {
    const samples = [{ labels: { name: 'a"b\\c\nd' }, value: Number.POSITIVE_INFINITY }];
    const text = formatMetrics([{ name: 'm', type: 'gauge', help: 'One \\ two\nthree.', samples }]);
    expect(text).toBe('# HELP m One \\\\ two\\nthree.\n# TYPE m gauge\nm{name="a\\"b\\\\c\\nd"} +Inf\n');
  });
});

describe('the name of every metric', () => {
  test('contains the quantity and the unit, as Prometheus recommends', () => {
    for (const { name, type } of all) {
      expect(name).toMatch(/^animal_store_[a-z]+(?:_[a-z]+)*$/);
      expect(name.endsWith('_total')).toBe(type === 'counter');
      if (type === 'histogram' || type === 'summary') expect(name).toEndWith('_seconds');
      expect(name).not.toMatch(/_(?:ms|milliseconds|kb|mb|percent|count|sum|bucket)(?:_|$)/);
    }
  });
});

/** PromQL expressions in the files that use the metrics. */
const made: readonly { readonly what: string; readonly expressions: readonly string[] }[] = [
  {
    what: 'deploy/grafana.json',
    expressions: [...file('deploy/grafana.json').matchAll(/"expr": ("(?:[^"\\]|\\.)*")/g)].map(
      ([, text = '""']) => JSON.parse(text) as string,
    ),
  },
  {
    what: 'deploy/alerts.yml',
    expressions: (Bun.YAML.parse(file('deploy/alerts.yml')) as Alerts).groups.flatMap(({ rules }) =>
      rules.map(({ expr }) => expr),
    ),
  },
];

interface Alerts {
  readonly groups: readonly {
    readonly rules: readonly {
      readonly alert: string;
      readonly expr: string;
      readonly annotations: { readonly summary: string; readonly remedy: string };
    }[];
  }[];
}

describe.each(made)('$what', ({ what, expressions }) => {
  test('uses only existing metrics', () => {
    expect(expressions.length).toBeGreaterThan(5);
    const unknown = expressions.flatMap(metricsIn).filter((name) => !names.has(name));
    expect(unknown).toEqual([]);
  });

  test('applies rate() and increase() to every counter, and to nothing else', () => {
    const rising = new Set(
      all.flatMap(({ name, type }) => {
        if (type === 'gauge') return [];
        return type === 'counter' ? [name] : [`${name}_sum`, `${name}_count`, `${name}_bucket`];
      }),
    );
    for (const expression of expressions) {
      const rated = [...expression.matchAll(/\b(?:rate|increase)\((animal_store_\w+)/g)].map(
        ([, name = '']) => name,
      );
      for (const name of rated) expect(rising).toContain(name);
      for (const name of metricsIn(expression)) {
        if (rising.has(name)) expect(rated).toContain(name);
      }
    }
  });

  test('has balanced brackets and quotes', () => {
    for (const expression of expressions) {
      const bare = expression.replace(/"[^"]*"/g, '');
      expect(bare).not.toContain('"');
      const open: string[] = [];
      for (const sign of bare.match(/[()[\]{}]/g) ?? []) {
        const partner = { ')': '(', ']': '[', '}': '{' }[sign];
        if (partner === undefined) open.push(sign);
        else expect([what, expression, open.pop()]).toEqual([what, expression, partner]);
      }
      expect(open).toEqual([]);
    }
  });
});

test('deploy/grafana.json displays every metric and uses only existing labels', () => {
  const [{ expressions = [] } = {}] = made;
  const text = expressions.join('\n');
  const missing = all.filter(({ name }) => !text.includes(name)).map(({ name }) => name);
  // The dashboard omits the average delay, which is only for detailed analysis.
  expect(missing).toEqual(['animal_store_event_loop_delay_seconds']);
});

test('no graph or alert shows the jump in event ids after a restore as a rate', () => {
  const rates = made
    .flatMap(({ expressions }) => expressions)
    .filter((text) => text.includes('events_total'));
  expect(rates).toEqual([
    expect.stringMatching(/^max\(rate\(animal_store_events_total\{.*\}\[5m\]\) < 1000000\)$/),
  ]);
});

test('every alert has a summary and a remedy', () => {
  const { groups } = Bun.YAML.parse(file('deploy/alerts.yml')) as Alerts;
  for (const { alert, annotations } of groups.flatMap(({ rules }) => rules)) {
    expect(alert).toMatch(/^AnimalStore[A-Z]\w+$/);
    expect(annotations.summary).toMatch(/\.$/);
    expect(annotations.remedy).toMatch(/\.$/);
  }
});

test('if the store folder is moved away, only the metrics that cannot be read are missing', async () => {
  await using app = await startTestApp();
  const { token } = await addOperator(app, 'admin');
  const folder = dirname(app.config.databaseUrl.replace('sqlite:', ''));
  expect(metricsIn(await scraped(app))).toContain('animal_store_disk_free_bytes');
  renameSync(folder, `${folder}.aside`);
  try {
    for (const target of ['root:/metrics', '/overview', '/system', '/backups']) {
      const { status } = await callAdmin(app, 'GET', target, { token });
      expect([target, status]).toEqual([target, 200]);
    }
    const { text } = await callAdmin(app, 'GET', 'root:/metrics', { token });
    expect(text).toContain('animal_store_trouble{part="storeFiles"} 1');
    expect(text).not.toContain('animal_store_disk_free_bytes ');
    expect(text).not.toContain('animal_store_store_bytes{part="data"}');
    const { body } = await callAdmin(app, 'GET', '/system', { token });
    expect(body).toMatchObject({ store: { dataBytes: null, freeBytes: null } });
  } finally {
    renameSync(`${folder}.aside`, folder);
  }
});
