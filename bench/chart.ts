/** Bar charts of each contender's requests per second, in one SVG for light and dark pages. */
import { scenarios } from './scenarios.ts';
import { type ContenderSummary, type Results, summarize } from './summary.ts';

const width = 760;
const labelWidth = 120;
const valueWidth = 90;
const barHeight = 16;
const rowHeight = 22;
const titleHeight = 34;
const gap = 14;

const style = `
  text { font: 13px system-ui, sans-serif; fill: #333 }
  .title { font-weight: 600 }
  .service { fill: #1a7f5a } .limit { fill: #b9bec7 } .peer { fill: #6a8fc5 }
  @media (prefers-color-scheme: dark) { text { fill: #ddd } .limit { fill: #666b75 } }`;

/** Returns a chart of all loads. For durable writes, it includes only contenders whose writes are durable. */
export function comparisonChart(results: Results): string {
  let top = 0;
  const parts: string[] = [];
  for (const { name, title, callers } of scenarios) {
    const figures = summarize(results, name).filter(
      ({ entrant }) => name !== 'create' || entrant.does.includes('durable POST'),
    );
    if (figures.length < 2 || callers !== undefined) continue;
    parts.push(scenarioBars(title, figures, top));
    top += titleHeight + figures.length * rowHeight + gap;
  }
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${top}" role="img" aria-label="Requests per second">
<style>${style}
</style>
${parts.join('\n')}
</svg>
`;
}

function scenarioBars(title: string, figures: readonly ContenderSummary[], top: number): string {
  const maxRate = figures[0]?.requestsPerSecond ?? 1;
  const bars = figures.map(({ entrant, requestsPerSecond }, index) => {
    const y = top + titleHeight + index * rowHeight;
    const length = Math.max(1, (requestsPerSecond / maxRate) * (width - labelWidth - valueWidth));
    const middle = y + barHeight - 4;
    return `<text x="${labelWidth - 8}" y="${middle}" text-anchor="end">${escaped(entrant.name)}</text>
<rect class="${entrant.role}" x="${labelWidth}" y="${y}" width="${length.toFixed(1)}" height="${barHeight}" rx="2"/>
<text x="${(labelWidth + length + 6).toFixed(1)}" y="${middle}">${Math.round(requestsPerSecond).toLocaleString('en')}</text>`;
  });
  const heading = `<text class="title" x="0" y="${top + 20}">${escaped(title)}, requests/s</text>`;
  return [heading, ...bars].join('\n');
}

function escaped(text: string): string {
  return text.replace(/[&<>]/g, (character) => `&#${character.charCodeAt(0)};`);
}
