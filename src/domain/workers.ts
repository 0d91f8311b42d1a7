/** Most processes that serve one store together on a machine. They are numbered from 1; 0 is the one that supervises them. */
export const mostWorkers = 255;
