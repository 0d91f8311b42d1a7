import type { Client } from './client.ts';

/** Number of concurrent requests. */
const clientsAtOnce = 64;

/**
 * Exhausts an account's per-minute limit with concurrent requests from all clients, and sends some additional requests.
 * Returns the sorted X-RateLimit-Remaining values of the accepted requests. If counting is exact, these are all
 * integers from 0 to one below the limit.
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
