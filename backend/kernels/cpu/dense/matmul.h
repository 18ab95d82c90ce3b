#pragma once

namespace nyala {

class KernelTable;

/// Products of matrices by oneDNN, one call for each matrix of the batch.
void register_matmul(KernelTable& table);

}  // namespace nyala
