import type { Client } from './client.ts';

/** Number of concurrent requests. */
const clientsAtOnce = 64;

/**
 * Exhausts the minute limit of a new account with concurrent requests spread over the clients, and sends some more.
 * Returns X-RateLimit-Remaining of the admitted requests, ascending: 0 to one below the limit if the counts are exact.
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
