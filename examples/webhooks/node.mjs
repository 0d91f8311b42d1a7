/**
 * Receives webhooks with Node.js, and keeps each event once, as a line of a file:
 *
 *   WEBHOOK_SECRET=whsec_your_secret PORT=8080 node node.mjs inbox.jsonl
 *
 * During a rotation, WEBHOOK_SECRET has both secrets, separated by a space. Let another program, or a later
 * part of this one, handle the events of the file, because a delivery needs a response within 15 seconds.
 */
import { existsSync, readFileSync } from 'node:fs';
import { appendFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { verifyWebhook, WebhookError } from '@animal-store/client';

const { WEBHOOK_SECRET = '', PORT = '8080' } = process.env;
const [inbox = 'inbox.jsonl'] = process.argv.slice(2);
const secrets = WEBHOOK_SECRET.split(' ');
const mostBytes = 1_048_576;

/** Promises of the events that are stored or being stored. */
const stored = new Map(linesOf(inbox).map((line) => [JSON.parse(line).webhookId, Promise.resolve()]));

/** A crash may have left an incomplete line, which was not acknowledged. */
function linesOf(file) {
  return existsSync(file)
    ? readFileSync(file, 'utf8')
        .split('\n')
        .filter((line) => line.endsWith('}'))
    : [];
}

async function bodyOf(request) {
  const chunks = [];
  let bytes = 0;
  for await (const chunk of request) {
    bytes += chunk.length;
    if (bytes > mostBytes) throw new WebhookError('The body is too large.');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

async function receive(request) {
  const body = await bodyOf(request);
  const { type } = await verifyWebhook(secrets, request.headers, body);
  const webhookId = request.headers['webhook-id'];
  // The same event may be delivered several times, even at the same time.
  if (!stored.has(webhookId)) {
    const line = `\n{"webhookId":${JSON.stringify(webhookId)},"event":${body}}\n`;
    const storing = appendFile(inbox, line, { flush: true }).then(() => console.log(`${webhookId} ${type}`));
    storing.catch(() => stored.delete(webhookId));
    stored.set(webhookId, storing);
  }
  await stored.get(webhookId);
}

const server = createServer((request, response) => {
  receive(request).then(
    () => response.writeHead(204).end(),
    (error) => {
      console.error(error.message);
      // The service retries a 500, and also a 400, in case the secret is corrected.
      response.writeHead(error instanceof WebhookError ? 400 : 500).end(error.name);
    },
  );
});
server.listen(Number(PORT), '127.0.0.1', () => console.log(`Listening on port ${server.address().port}.`));
