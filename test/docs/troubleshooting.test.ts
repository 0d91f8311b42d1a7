/** The messages of `/readyz`, which operators search for in docs/troubleshooting.md. */
import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { fatalTroubles, troubles } from '../../src/domain/troubles.ts';
import { root } from '../support/process.ts';

const page = await Bun.file(join(root, 'docs/troubleshooting.md')).text();
const headings = [...page.matchAll(/^### (.+)$/gm)].map(([, heading = '']) => heading);

test.each([...Object.values(troubles), ...Object.values(fatalTroubles)])(
  'a heading of the troubleshooting page is the beginning of the message "%s"',
  (message) => {
    expect(headings.filter((heading) => message.startsWith(heading))).toHaveLength(1);
  },
);
