/**
 * Receives webhooks with Node.js, and stores each event once, as a line of a file:
 *
 *   WEBHOOK_SECRET=whsec_your_secret PORT=8080 node node.mjs inbox.jsonl
 *
 * During a rotation, set WEBHOOK_SECRET to both secrets, separated by a space. Process the stored events in
 * another program, or later in this one, because the service expects a response within 15 seconds.
 */
import { existsSync, readFileSync } from 'node:fs';
import { appendFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { verifyWebhook, WebhookError } from '@animal-store/client';

const { WEBHOOK_SECRET = '', PORT = '8080' } = process.env;
const [inbox = 'inbox.jsonl'] = process.argv.slice(2);
const secrets = WEBHOOK_SECRET.split(' ');
const mostBytes = 1_048_576;

/** A promise for each event that is stored or being stored. */
const stored = new Map(webhookIdsIn(inbox).map((webhookId) => [webhookId, Promise.resolve()]));

/** The ids in a file. A crash may have left an incomplete line, whose event was not acknowledged. */
function webhookIdsIn(file) {
  if (!existsSync(file)) return [];
  return readFileSync(file, 'utf8')
    .split('\n')
    .flatMap((line) => {
      try {
        return [JSON.parse(line).webhookId];
      } catch {
        return [];
      }
    });
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
  // An event may be delivered several times, even concurrently.
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
      // The service retries after a 500, and after a 400 because the secret may be corrected later.
      response.writeHead(error instanceof WebhookError ? 400 : 500).end(error.name);
    },
  );
});
server.listen(Number(PORT), '127.0.0.1', () => console.log(`Listening on port ${server.address().port}.`));
