import type { Client } from './client.ts';

/** How many requests are under way at once. */
const clientsAtOnce = 64;

/**
 * Uses up a new account's minute, with many requests at once spread over the clients, and some more. Returns what
 * the admitted ones were told of X-RateLimit-Remaining, ascending: 0 to one below the limit if all is well.
 */
export async function countedWindow(clients: readonly Client[], limit: number): Promise<number[]> {
  const remaining: number[] = [];
  let sent = 0;
  const ask = async (client: Client) => {
    while (sent < limit + clientsAtOnce) {
      sent++;
      const reply = await client.get('/pets?limit=1');
      if (reply.status === 200) remaining.push(reply.remaining);
      else if (reply.status !== 429) throw new Error(`${reply.status} ${reply.text}`);
    }
  };
  const asking = Array.from({ length: clientsAtOnce }, (_, index) =>
    ask(clients[index % clients.length] as Client),
  );
  await Promise.all(asking);
  return remaining.sort((one, other) => one - other);
}
