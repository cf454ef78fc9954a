/** The page size of lists. Queries with a smaller one are previews and badges. */
export const PAGE_SIZE = 20;
