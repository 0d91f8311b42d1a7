/** The version is stated in package.json. Files that cannot read it there must agree with it. */
import { expect, test } from 'bun:test';
import packageJson from '../../package.json' with { type: 'json' };

const { version } = packageJson;

test.each(['deploy/kubernetes.yaml', 'docs/deploying.md'])(
  '%s names the image of this version',
  async (path) => {
    const tags = (await Bun.file(path).text()).matchAll(/animal-store:(\d[\w.-]*)/g);
    expect(new Set(Array.from(tags, ([, tag]) => tag))).toEqual(new Set([version]));
  },
);

test('package-lock.json has this version', async () => {
  const lock = await Bun.file('package-lock.json').json();
  expect([lock.version, lock.packages[''].version]).toEqual([version, version]);
});

test('the newest release in the changelog is this version', async () => {
  const [, newest] = /^## (\d\S*)/m.exec(await Bun.file('CHANGELOG.md').text()) ?? [];
  expect(newest).toBe(version);
});
