/**
 * Receives webhooks with Bun, and stores each event once, in a table of an SQLite file:
 *
 *   WEBHOOK_SECRET=whsec_your_secret PORT=8080 bun bun.ts inbox.db
 *
 * During a rotation, set WEBHOOK_SECRET to both secrets, separated by a space. Process the stored events in
 * another program, or later in this one, because the service expects a response within 15 seconds.
 */
import { Database } from 'bun:sqlite';
import { verifyWebhook, WebhookError } from '@animal-store/client';

const { WEBHOOK_SECRET = '', PORT = '8080' } = process.env;
const [inbox = 'inbox.db'] = process.argv.slice(2);
const secrets = WEBHOOK_SECRET.split(' ');

const database = new Database(inbox);
database.run('CREATE TABLE IF NOT EXISTS inbox (webhook_id TEXT PRIMARY KEY, event TEXT NOT NULL)');
const add = database.query('INSERT OR IGNORE INTO inbox VALUES (?, ?)');

async function receive(request: Request): Promise<Response> {
  const body = await request.text();
  const { type } = await verifyWebhook(secrets, request.headers, body);
  const id = request.headers.get('webhook-id');
  // An event may be delivered several times.
  if (add.run(id, body).changes > 0) console.log(`${id} ${type}`);
  return new Response(null, { status: 204 });
}

const server = Bun.serve({
  hostname: '127.0.0.1',
  port: Number(PORT),
  maxRequestBodySize: 1_048_576,
  fetch: receive,
  error: (error) => {
    console.error(error.message);
    // The service retries after a 500, and after a 400 because the secret may be corrected later.
    return new Response(error.name, { status: error instanceof WebhookError ? 400 : 500 });
  },
});
console.log(`Listening on port ${server.port}.`);
