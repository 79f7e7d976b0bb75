""""doc"""
class A:
    def x(self):
        """d"""
        return 1
