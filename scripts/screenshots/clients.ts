/** Clients that generate load. */

/** API keys of the clients. */
export interface ShopKeys {
  readonly website: string;
  readonly stock: string;
  readonly tablet: string;
  /** Key of an account with a low limit, used by a client that ignores the limit. */
  readonly script: string;
}

const tickMs = 50;

/** Runs clients until they are stopped. Most requests succeed, some are invalid, and one client exceeds its limit. */
export function startClients(apiUrl: string, keys: ShopKeys): { stop(): Promise<void> } {
  let isOver = false;
  const send = (key: string, path: string, method = 'GET', body?: unknown) =>
    fetch(`${apiUrl}/v1${path}`, {
      method,
      headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    }).then((answer) => answer.arrayBuffer());
  const work = async () => {
    for (let tick = 0; !isOver; tick += 1) {
      // The number of customers rises and falls.
      const customers = 3 + Math.round(2 * Math.sin(tick / 120) + 2 * Math.random());
      const visits = Array.from({ length: customers }, (_, n) => visit(send, keys, tick + n));
      if (tick % 3 === 0) visits.push(send(keys.script, '/pets?status=sold'));
      await Promise.all(visits);
      await Bun.sleep(tickMs);
    }
  };
  const done = work();
  return {
    stop: async () => {
      isOver = true;
      await done;
    },
  };
}

type Send = (key: string, path: string, method?: string, body?: unknown) => Promise<unknown>;

function visit(send: Send, keys: ShopKeys, turn: number): Promise<unknown> {
  if (turn % 40 === 0) return send(keys.stock, '/pets', 'POST', { name: 'Rex', categoryId: 1 });
  if (turn % 33 === 0) return send(keys.website, '/pets?limit=1000');
  if (turn % 21 === 0) return send(keys.tablet, `/pets/${(turn % 50) + 1}`);
  if (turn % 13 === 0) return send(keys.website, '/inventory');
  return send(keys.website, `/pets?status=available&limit=${20 + (turn % 30)}`);
}
